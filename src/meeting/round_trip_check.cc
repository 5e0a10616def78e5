#include "meeting/round_trip_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/hostlist.h"
#include "meeting/round_trip_table.h"
#include "topology/graph.h"

namespace alm::meeting {
namespace {

// A switch more on the way costs a few per cent at least: a fast uplink carries a datagram ten
// times as fast as the host's link.
constexpr double kLeafGap = 1.04;
// A round trip is too short, and surely too long, for the latencies of its way.
constexpr double kTooShort = 0.8, kTooLong = 3;
constexpr base::Nanos kShorterLeast = 100 * base::kMicrosecond;  // a switch may forward early
constexpr base::Nanos kLongerLeast = base::kMillisecond;         // what a busy host adds

std::string milliseconds_text(base::Nanos time) {
  return fmt::format("{:.3g} ms", static_cast<double>(time) / base::kMillisecond);
}

const std::string& name_of(const topology::Cluster& cluster, base::HostId host) {
  return cluster.hosts[host.value].name;
}

// The first link of a host; there is one.
const topology::Link& link_of(const topology::Cluster& cluster, base::HostId host) {
  return *std::find_if(cluster.links.begin(), cluster.links.end(), [&](const auto& link) {
    return link.from.value == host.value || link.to.value == host.value;
  });
}

const std::string& leaf_name(const topology::Cluster& cluster, base::HostId host) {
  const topology::Link& link = link_of(cluster, host);
  return cluster.node_name(link.from.value == host.value ? link.to : link.from);
}

// Far hosts, times as far as near ones; 0: some hosts of a group are no nearer than others.
double gap_between(const RoundTripTable& table, std::span<const std::uint32_t> group_of) {
  base::Nanos near = 0;
  base::Nanos far = base::kNever;
  for (std::size_t a = 0; a < table.hosts(); ++a) {
    for (std::size_t b = a + 1; b < table.hosts(); ++b) {
      if (table.between(a, b) == 0) continue;
      if (group_of[a] == group_of[b]) {
        near = std::max(near, table.longer(a, b));
      } else {
        far = std::min(far, table.between(a, b));
      }
    }
  }
  return near == 0 || far == base::kNever ? 0 : base::ratio(far, near);
}

// Groups, or leaves, of one host.
std::size_t lone(std::span<const std::uint32_t> group_of) {
  return static_cast<std::size_t>(
      std::count_if(group_of.begin(), group_of.end(), [&](std::uint32_t group) {
        return std::count(group_of.begin(), group_of.end(), group) == 1;
      }));
}

// The groups that the widest gap shows. Where nothing but chance orders round trips, all of a group
// are seldom shorter, both ways, than all others; and there is no host without a group.
std::optional<std::vector<std::uint32_t>> groups_of(const RoundTripTable& table,
                                                    std::size_t lone_max) {
  const auto sorted = table.sorted();
  std::optional<std::vector<std::uint32_t>> widest;
  double ratio = kLeafGap;
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    if (base::ratio(sorted[i], sorted[i - 1]) < ratio) continue;
    auto groups = table.groups(sorted[i - 1]);
    const double here = gap_between(table, groups);
    if (here < ratio || lone(groups) > lone_max) continue;
    widest = std::move(groups);
    ratio = here;
  }
  return widest;
}

class Leaves {
 public:
  Leaves(std::span<const std::uint32_t> leaf_of, std::span<const std::uint32_t> group_of)
      : leaf_of_(leaf_of), group_of_(group_of) {}

  // A host of another leaf that is near to this one; nothing: there is none.
  std::optional<std::size_t> near(std::size_t host) const {
    return find([&](std::size_t other) {
      return group_of_[other] == group_of_[host] && leaf_of_[other] != leaf_of_[host];
    });
  }
  // A host of the same leaf, at home there, that is far from this one.
  std::optional<std::size_t> far(std::size_t host) const {
    const auto home = home_of(leaf_of_[host]);
    return find([&](std::size_t other) {
      // A host that is far from everybody may just answer late.
      const bool alone = std::count(group_of_.begin(), group_of_.end(), group_of_[other]) == 1;
      return !alone && group_of_[other] != group_of_[host] && leaf_of_[other] == leaf_of_[host] &&
             home.value_or(group_of_[other]) == group_of_[other];
    });
  }

 private:
  template <class Is>
  std::optional<std::size_t> find(Is is) const {
    for (std::size_t host = 0; host < leaf_of_.size(); ++host) {
      if (is(host)) return host;
    }
    return std::nullopt;
  }
  // The group that most hosts of a leaf are in; nothing: two have as many.
  std::optional<std::uint32_t> home_of(std::uint32_t leaf) const {
    std::map<std::uint32_t, std::size_t> counts;
    for (std::size_t host = 0; host < leaf_of_.size(); ++host) {
      if (leaf_of_[host] == leaf) ++counts[group_of_[host]];
    }
    const auto most =
        std::max_element(counts.begin(), counts.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    const auto as_many = std::count_if(counts.begin(), counts.end(),
                                       [&](const auto& one) { return one.second == most->second; });
    return as_many == 1 ? std::optional(most->first) : std::nullopt;
  }

  std::span<const std::uint32_t> leaf_of_, group_of_;
};

// [host] the least time in seconds to every node, by latencies alone.
std::vector<std::vector<double>> latencies_from(const topology::Cluster& cluster,
                                                std::span<const base::HostId> hosts) {
  const topology::Adjacency adjacency(cluster);
  std::vector<std::vector<double>> all;
  for (const base::HostId host : hosts) {
    all.push_back(topology::least_times_from(
        cluster, adjacency, host.value,
        [](std::uint32_t, const topology::Link& link) { return link.latency_us; }));
  }
  return all;
}

struct Way {
  std::size_t from = 0, to = 0;             // places in `hosts`
  const topology::Link* longest = nullptr;  // the link with the most latency
  base::Nanos there_and_back = 0;           // by the file
  base::Nanos took = 0;
};

// Between all hosts of which both times are known.
std::vector<Way> ways_of(const topology::Cluster& cluster, std::span<const base::HostId> hosts,
                         const RoundTripTable& table) {
  const auto from = latencies_from(cluster, hosts);
  std::vector<Way> ways;
  for (std::size_t a = 0; a < hosts.size(); ++a) {
    for (std::size_t b = a + 1; b < hosts.size(); ++b) {
      const double all_us = from[a][hosts[b].value];
      if (table.between(a, b) == 0 || all_us <= 0) continue;
      Way way{a, b, nullptr, static_cast<base::Nanos>(2 * all_us * base::kMicrosecond),
              table.between(a, b)};
      const auto passes = [&](topology::NodeId in, topology::NodeId out, double latency_us) {
        const double here_us = from[a][in.value] + latency_us + from[b][out.value];
        return from[a][in.value] >= 0 && from[b][out.value] >= 0 && here_us <= all_us * 1.000001;
      };
      for (const topology::Link& link : cluster.links) {
        const bool on_way = passes(link.from, link.to, link.latency_us) ||
                            passes(link.to, link.from, link.latency_us);
        if (!on_way || (way.longest != nullptr && way.longest->latency_us >= link.latency_us)) {
          continue;
        }
        way.longest = &link;
      }
      if (way.longest != nullptr) ways.push_back(way);
    }
  }
  return ways;
}

// The longest round trip of ways that are short beside this one, which tells how late hosts answer.
base::Nanos lateness(std::span<const std::vector<double>> from, std::span<const base::HostId> hosts,
                     const RoundTripTable& table, base::Nanos there_and_back) {
  base::Nanos longest = 0;
  for (std::size_t a = 0; a < hosts.size(); ++a) {
    for (std::size_t b = a + 1; b < hosts.size(); ++b) {
      const auto by_file =
          static_cast<base::Nanos>(2 * from[a][hosts[b].value] * base::kMicrosecond);
      if (2 * by_file < there_and_back) longest = std::max(longest, table.between(a, b));
    }
  }
  return longest;
}

}  // namespace

std::vector<FileRemark> leaf_remarks(const topology::Cluster& cluster,
                                     std::span<const base::HostId> hosts,
                                     std::span<const base::Nanos> round_trips) {
  const RoundTripTable table(round_trips, hosts.size());
  const auto leaf_of = topology::schedule_hierarchy(cluster).of(hosts).front();
  const auto group_of = groups_of(table, lone(leaf_of));
  if (!group_of) return {};
  const Leaves leaves(leaf_of, *group_of);
  FileRemark remark;
  std::vector<std::string> wrong;
  for (std::size_t host = 0; host < hosts.size(); ++host) {
    const auto near = leaves.near(host);
    const auto far = leaves.far(host);
    if (!near || !far) continue;
    wrong.push_back(name_of(cluster, hosts[host]));
    if (wrong.size() > 1) continue;
    remark.line = link_of(cluster, hosts[host]).lines.ends;
    remark.text =
        fmt::format("{} does not hang on {}: {} of {} answers it within {}, {} of {} takes {}",
                    wrong.front(), leaf_name(cluster, hosts[host]), name_of(cluster, hosts[*near]),
                    leaf_name(cluster, hosts[*near]), milliseconds_text(table.between(host, *near)),
                    name_of(cluster, hosts[*far]), leaf_name(cluster, hosts[*far]),
                    milliseconds_text(table.between(host, *far)));
  }
  if (wrong.empty()) return {};
  if (wrong.size() > 1) {
    remark.text +=
        fmt::format("; so it is with {}", base::compress_hostlist(std::span(wrong).subspan(1)));
  }
  return {remark};
}

std::vector<FileRemark> latency_remarks(const topology::Cluster& cluster,
                                        std::span<const base::HostId> hosts,
                                        std::span<const base::Nanos> round_trips) {
  const RoundTripTable table(round_trips, hosts.size());
  std::map<const topology::Link*, Way> shortest;  // across each link, by what the file gives it
  for (const Way& way : ways_of(cluster, hosts, table)) {
    const auto [found, first] = shortest.try_emplace(way.longest, way);
    const auto ratio = [](const Way& one) { return base::ratio(one.took, one.there_and_back); };
    if (!first && ratio(way) < ratio(found->second)) found->second = way;
  }
  std::map<std::uint32_t, FileRemark> by_line;
  const auto from = latencies_from(cluster, hosts);
  for (const auto& [link, way] : shortest) {
    const double ratio = base::ratio(way.took, way.there_and_back);
    const bool high = ratio < kTooShort && way.there_and_back - way.took > kShorterLeast;
    const bool low =
        way.took - way.there_and_back > kLongerLeast &&
        base::ratio(way.took, way.there_and_back +
                                  lateness(from, hosts, table, way.there_and_back)) > kTooLong;
    if (!high && !low) continue;
    by_line.try_emplace(
        link->lines.latency,
        FileRemark{
            link->lines.latency,
            fmt::format("the latency of {} -> {}, {} us, is too {}: {} and {} answer each "
                        "other {} {}, and latencies alone take {} by the file",
                        cluster.node_name(link->from), cluster.node_name(link->to),
                        link->latency_us, high ? "high" : "low", name_of(cluster, hosts[way.from]),
                        name_of(cluster, hosts[way.to]), high ? "within" : "in no less than",
                        milliseconds_text(way.took), milliseconds_text(way.there_and_back))});
  }
  std::vector<FileRemark> remarks;
  for (auto& [line, remark] : by_line) remarks.push_back(std::move(remark));
  return remarks;
}

bool can_be_checked(const topology::Cluster& cluster, std::span<const base::HostId> hosts) {
  if (hosts.size() < 2) return false;
  const auto leaves = topology::schedule_hierarchy(cluster).of(hosts).front();
  const std::set<std::uint32_t> several(leaves.begin(), leaves.end());
  return several.size() > 1 || topology::latency_seconds(cluster, hosts) > 0;
}

}  // namespace alm::meeting
