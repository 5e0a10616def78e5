#include "scenario/traffic.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>

#include "scenario/sites.h"
#include "sim/random.h"
#include "topology/find_hosts.h"

namespace alm::scenario {
namespace {

base::Status set_hosts(const topology::Cluster& cluster, Scenario& out) {
  if (out.asked.hosts) {
    auto found = topology::find_hosts(cluster, *out.asked.hosts);
    if (!found) return found.error();
    out.hosts = std::move(found).value();
  } else {
    out.hosts = topology::all_hosts(cluster);
  }
  if (out.asked.mapping == "random") {
    sim::Random random(sim::mix(out.asked.seed + 1));
    for (std::size_t i = out.hosts.size(); i > 1; --i) {
      std::swap(out.hosts[i - 1], out.hosts[random.below(i)]);
    }
  }
  // Sites without a host of this exchange do not count.
  const auto sites = topology::sites(cluster);
  for (std::size_t i = 0; !sites.of.empty() && i < out.hosts.size(); ++i) {
    out.site_of.push_back(sites.of[out.hosts[i].value]);
  }
  out.site_of = numbered_from_0(out.site_of);
  return {};
}

base::Status set_pairs(const topology::Cluster& cluster, Scenario& out) {
  if (!out.asked.pairs) return {};
  if (out.asked.ranks_per_host > 1) {
    return base::bad_input("options: `pairs` needs one rank per host");
  }
  for (const auto& pair : *out.asked.pairs) {
    if (pair.size() != 2 || pair[0] == pair[1]) {
      return base::bad_input("options: `pairs` is no list of [from, to]");
    }
    const auto hosts = topology::find_hosts(cluster, pair);
    if (!hosts) return hosts.error();
    std::vector<std::uint32_t> ranks;
    for (std::size_t end = 0; end < 2; ++end) {
      const auto found = std::find(out.hosts.begin(), out.hosts.end(), hosts.value()[end]);
      if (found == out.hosts.end()) {
        return base::bad_input(fmt::format("options: `pairs`: host `{}` takes no part", pair[end]));
      }
      ranks.push_back(static_cast<std::uint32_t>(found - out.hosts.begin()));
    }
    out.pairs.emplace(ranks[0], ranks[1]);
  }
  return {};
}

base::Status set_matrix(Scenario& out) {
  if (!out.asked.matrix) return {};
  if (!out.pairs.empty()) {
    return base::bad_input("options: `matrix` and `pairs` both say who sends; give one");
  }
  auto made = matrix_of(*out.asked.matrix, out.ranks(), "options: `matrix`");
  if (!made) return made.error();
  out.matrix = std::move(made).value();
  for (const std::uint64_t bytes : out.matrix) {
    if (bytes > kSizeMax) {
      return base::bad_input(
          fmt::format("options: `matrix` holds {} bytes; at most {} per pair", bytes, kSizeMax));
    }
  }
  return {};
}

// [[from, to, bytes], ..] for each stage.
base::Status set_stages(Scenario& out) {
  // Our engines keep what comes for the next exchange and no more; messages wait in any number.
  if (!out.asked.steps_together && (!out.asked.steps || out.asked.transport != "messages")) {
    return base::bad_input(
        "options: steps_together=false lets ranks run ahead of each other, which needs `steps` (or "
        "a pattern) and transport=messages");
  }
  if (!out.asked.steps) return {};
  if (!out.complete()) {
    return base::bad_input("options: `steps`, `matrix` and `pairs` say who sends; give one");
  }
  if (out.asked.steps->empty()) {
    return base::bad_input(
        "options: `steps` is no list of steps, each a list of [from, to, bytes]");
  }
  for (const Rows& stage : *out.asked.steps) {
    auto& made = out.stages.emplace_back();
    for (const auto& send : stage) {
      if (send.size() != 3 || send[0] >= out.ranks() || send[1] >= out.ranks() ||
          send[0] == send[1] || send[2] > kSizeMax) {
        return base::bad_input(
            fmt::format("options: `steps`: step {} has no [from, to, bytes] of two of {} ranks",
                        out.stages.size() - 1, out.ranks()));
      }
      made.push_back(
          {static_cast<std::uint32_t>(send[0]), static_cast<std::uint32_t>(send[1]), send[2]});
    }
    std::sort(made.begin(), made.end(), [](const auto& one, const auto& other) {
      return std::pair(one.from, one.to) < std::pair(other.from, other.to);
    });
  }
  return {};
}

base::Status check_jobs(const Scenario& out) {
  if (!out.asked.split_jobs()) return {};
  if (!out.complete()) {
    return base::bad_input("options: `matrix` and `pairs` need jobs on the same hosts");
  }
  if (out.hosts.size() < 2 * std::size_t{out.asked.jobs}) {
    return base::bad_input(
        fmt::format("options: {} hosts cannot be split among {} jobs; each needs two or more",
                    out.hosts.size(), out.asked.jobs));
  }
  return {};
}

base::Status set_background(const topology::Cluster& cluster, Scenario& out) {
  for (const BackgroundFlow& asked : out.asked.background) {
    const auto ends = topology::find_hosts(cluster, std::vector{asked.from, asked.to});
    if (!ends) return ends.error();
    if (asked.from == asked.to) {
      return base::bad_input(
          fmt::format("background[{}]: a flow needs two hosts", out.background.size()));
    }
    out.background.push_back({.from = ends.value()[0].value,
                              .to = ends.value()[1].value,
                              .bit_s = static_cast<std::uint64_t>(asked.rate_mbit_s * kMega)});
  }
  return {};
}

}  // namespace

base::Status set_traffic(const topology::Cluster& cluster, Scenario& out) {
  if (auto set = set_hosts(cluster, out); !set) return set;
  if (auto set = set_pairs(cluster, out); !set) return set;
  if (auto set = set_matrix(out); !set) return set;
  if (auto set = set_stages(out); !set) return set;
  if (auto checked = check_jobs(out); !checked) return checked;
  if (auto set = set_background(cluster, out); !set) return set;
  // Every job gets a copy of the options, and these may be large.
  out.asked.matrix.reset();
  out.asked.steps.reset();
  return {};
}

base::Result<std::vector<std::uint64_t>> matrix_of(const Rows& rows, std::size_t ranks,
                                                   const std::string& where) {
  std::vector<std::uint64_t> out;
  out.reserve(ranks * ranks);
  for (const auto& row : rows) {
    if (row.size() != ranks || rows.size() != ranks) {
      return base::bad_input(
          fmt::format("{}: {} rows, one of {} numbers; expected {} of {}: a row per sender, a "
                      "number per receiver",
                      where, rows.size(), row.size(), ranks, ranks));
    }
    out.insert(out.end(), row.begin(), row.end());
  }
  if (out.size() != ranks * ranks) {
    return base::bad_input(fmt::format("{}: no rows; expected {} of {}", where, ranks, ranks));
  }
  return out;
}

std::uint64_t Scenario::bytes_in(std::uint32_t stage, std::uint32_t from, std::uint32_t to) const {
  const auto& sends = stages[stage];
  const auto found = std::lower_bound(
      sends.begin(), sends.end(), std::pair(from, to),
      [](const Send& one, const auto& wanted) { return std::pair(one.from, one.to) < wanted; });
  return found != sends.end() && found->from == from && found->to == to ? found->bytes : 0;
}

std::uint64_t Scenario::bytes(std::uint32_t from, std::uint32_t to) const {
  if (!stages.empty()) {
    std::uint64_t sum = 0;
    for (std::uint32_t stage = 0; stage < stages.size(); ++stage) sum += bytes_in(stage, from, to);
    return sum;
  }
  if (!matrix.empty()) return matrix[from * std::size_t{ranks()} + to];
  return pairs.empty() || pairs.count({from, to}) > 0 ? asked.size : 0;
}

Scenario of_job(const Scenario& scenario, std::uint32_t job) {
  Scenario out = scenario;
  if (!scenario.asked.split_jobs()) return out;
  out.hosts.clear();
  out.site_of.clear();
  for (std::size_t i = job; i < scenario.hosts.size(); i += scenario.asked.jobs) {
    out.hosts.push_back(scenario.hosts[i]);
    if (!scenario.site_of.empty()) out.site_of.push_back(scenario.site_of[i]);
  }
  out.site_of = numbered_from_0(out.site_of);
  return out;
}

}  // namespace alm::scenario
