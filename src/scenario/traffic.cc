#include "scenario/traffic.h"

#include <fmt/core.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "scenario/sites.h"

namespace nb = nanobind;

namespace alm::bindings {
namespace {

constexpr std::uint32_t kRanksPerHostMax = 1024;
constexpr std::uint32_t kJobsMax = 64;

void read_hosts(Reader& reader, const topology::Cluster& cluster, SimulateOptions& out,
                std::uint64_t seed) {
  const nb::object names = reader.object("hosts");
  HostNames list;
  if (!names.is_none()) {
    list.emplace();
    if (!nb::try_cast<std::vector<std::string>>(names, *list)) {
      refuse("options: `hosts` is no list of names");
    }
  }
  out.hosts = participants(cluster, list);
  const std::string mapping = reader.text("mapping", "sequential");
  if (mapping == "random") {
    sim::Random random(sim::mix(seed + 1));
    for (std::size_t i = out.hosts.size(); i > 1; --i) {
      std::swap(out.hosts[i - 1], out.hosts[random.below(i)]);
    }
  } else if (mapping != "sequential") {
    refuse(fmt::format("options: mapping `{}` is unknown; expected sequential or random", mapping));
  }
  // Sites without a host of this exchange do not count.
  const auto sites = topology::sites(cluster);
  for (std::size_t i = 0; !sites.of.empty() && i < out.hosts.size(); ++i) {
    out.site_of.push_back(sites.of[out.hosts[i].value]);
  }
  out.site_of = numbered_from_0(out.site_of);
}

void read_pairs(Reader& reader, const topology::Cluster& cluster, SimulateOptions& out) {
  const nb::object list = reader.object("pairs");
  if (list.is_none()) return;
  std::vector<std::vector<std::string>> names;
  if (!nb::try_cast(list, names)) refuse("options: `pairs` is no list of [from, to]");
  const auto rank_of = [&](const std::string& name) {
    const std::uint32_t host = host_named(cluster, name);
    const auto found = std::find(out.hosts.begin(), out.hosts.end(), base::HostId{host});
    if (found == out.hosts.end()) {
      refuse(fmt::format("options: `pairs`: host `{}` takes no part", name));
    }
    return static_cast<std::uint32_t>(found - out.hosts.begin());
  };
  if (out.ranks_per_host > 1) refuse("options: `pairs` needs one rank per host");
  for (const auto& pair : names) {
    if (pair.size() != 2 || pair[0] == pair[1]) {
      refuse("options: `pairs` is no list of [from, to]");
    }
    out.pairs.emplace(rank_of(pair[0]), rank_of(pair[1]));
  }
}

void read_jobs(Reader& reader, SimulateOptions& out) {
  out.jobs = reader.count32("jobs", 1, 1);
  const std::string layout = reader.text("job_layout", "interleaved");
  out.split_jobs = layout == "split" && out.jobs > 1;
  if (layout != "split" && layout != "interleaved") {
    refuse(
        fmt::format("options: job_layout `{}` is unknown; expected interleaved or split", layout));
  }
  if (out.jobs > kJobsMax) {
    refuse(fmt::format("options: `jobs` is {}; expected 1 to {}", out.jobs, kJobsMax));
  }
  if (!out.split_jobs) return;
  if (!out.complete()) refuse("options: `matrix` and `pairs` need jobs on the same hosts");
  if (out.hosts.size() < 2 * std::size_t{out.jobs}) {
    refuse(fmt::format("options: {} hosts cannot be split among {} jobs; each needs two or more",
                       out.hosts.size(), out.jobs));
  }
}

void read_background(Reader& reader, const topology::Cluster& cluster, SimulateOptions& out) {
  const nb::object list = reader.object("background");
  if (list.is_none()) return;
  if (!nb::isinstance<nb::sequence>(list)) refuse("options: `background` is no list");
  for (const nb::handle one : list) {
    const std::string where = fmt::format("background[{}]", out.background.size());
    const nb::dict values = as_dict(one, where);
    Reader flow(values, where);
    harness::BulkFlow made;
    made.from = host_named(cluster, flow.text("from", ""));
    made.to = host_named(cluster, flow.text("to", ""));
    if (made.from == made.to) refuse(where + ": a flow needs two hosts");
    constexpr double kMega = 1e6;
    const double rate = flow.get<double>("rate_mbit_s", 0, "a number");
    if (!(rate >= 0 && rate <= kMega)) {
      refuse(fmt::format("{}: `rate_mbit_s` is {}; expected 0 to {}", where, rate, kMega));
    }
    made.bit_s = static_cast<std::uint64_t>(rate * kMega);
    flow.finish();
    out.background.push_back(made);
  }
}

void read_matrix(Reader& reader, SimulateOptions& out) {
  const nb::object given = reader.object("matrix");
  if (given.is_none()) return;
  if (!out.pairs.empty()) refuse("options: `matrix` and `pairs` both say who sends; give one");
  out.matrix = read_traffic(given, out.ranks(), "options: `matrix`");
  for (const std::uint64_t bytes : out.matrix) {
    if (bytes > kSizeMax) {
      refuse(fmt::format("options: `matrix` holds {} bytes; at most {} per pair", bytes, kSizeMax));
    }
  }
}

// [[from, to, bytes], ..] for each stage.
void read_stages(Reader& reader, SimulateOptions& out) {
  const nb::object given = reader.object("steps");
  if (given.is_none()) return;
  if (!out.complete()) refuse("options: `steps`, `matrix` and `pairs` say who sends; give one");
  std::vector<std::vector<std::vector<std::uint64_t>>> stages;
  if (!nb::try_cast(given, stages) || stages.empty()) {
    refuse("options: `steps` is no list of steps, each a list of [from, to, bytes]");
  }
  for (const auto& stage : stages) {
    auto& made = out.stages.emplace_back();
    for (const auto& send : stage) {
      if (send.size() != 3 || send[0] >= out.ranks() || send[1] >= out.ranks() ||
          send[0] == send[1] || send[2] > kSizeMax) {
        refuse(fmt::format("options: `steps`: step {} has no [from, to, bytes] of two of {} ranks",
                           out.stages.size() - 1, out.ranks()));
      }
      made.push_back(
          {static_cast<std::uint32_t>(send[0]), static_cast<std::uint32_t>(send[1]), send[2]});
    }
    std::sort(made.begin(), made.end(), [](const auto& one, const auto& other) {
      return std::pair(one.from, one.to) < std::pair(other.from, other.to);
    });
  }
}

}  // namespace

void read_traffic_options(Reader& reader, const topology::Cluster& cluster, SimulateOptions& out) {
  read_hosts(reader, cluster, out, out.seed);
  out.ranks_per_host = reader.count32("ranks_per_host", 1, 1);
  if (out.ranks_per_host > kRanksPerHostMax) {
    refuse(fmt::format("options: `ranks_per_host` is {}; expected 1 to {}", out.ranks_per_host,
                       kRanksPerHostMax));
  }
  read_pairs(reader, cluster, out);
  read_matrix(reader, out);
  read_stages(reader, out);
  read_jobs(reader, out);
  read_background(reader, cluster, out);
}

std::uint64_t SimulateOptions::bytes_in(std::uint32_t stage, std::uint32_t from,
                                        std::uint32_t to) const {
  const auto& sends = stages[stage];
  const auto found = std::lower_bound(
      sends.begin(), sends.end(), std::pair(from, to),
      [](const Send& one, const auto& wanted) { return std::pair(one.from, one.to) < wanted; });
  return found != sends.end() && found->from == from && found->to == to ? found->bytes : 0;
}

}  // namespace alm::bindings
