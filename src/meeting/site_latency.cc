#include "meeting/site_latency.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

namespace alm::meeting {
namespace {

// Far is so many times and so much longer than near. Shorter round trips than kNear differ by what
// hosts and switches do, not by distance.
constexpr double kGapRatio = 4;
constexpr base::Nanos kGap = 500 * base::kMicrosecond;
constexpr base::Nanos kNear = 100 * base::kMicrosecond;

struct Gap {
  base::Nanos near = 0, far = 0;
};

class Latencies {
 public:
  Latencies(std::span<const base::Nanos> round_trips, std::size_t hosts)
      : round_trips_(round_trips), hosts_(hosts) {}

  std::size_t hosts() const { return hosts_; }

  // 0: neither way is known.
  base::Nanos between(std::size_t a, std::size_t b) const {
    const base::Nanos there = round_trips_[a * hosts_ + b];
    const base::Nanos back = round_trips_[b * hosts_ + a];
    return there == 0 || back == 0 ? std::max(there, back) : std::min(there, back);
  }

  std::vector<base::Nanos> sorted() const {
    std::vector<base::Nanos> all;
    for (std::size_t a = 0; a < hosts_; ++a) {
      for (std::size_t b = a + 1; b < hosts_; ++b) {
        if (const base::Nanos one = between(a, b); one > 0) all.push_back(one);
      }
    }
    std::sort(all.begin(), all.end());
    return all;
  }

 private:
  std::span<const base::Nanos> round_trips_;
  std::size_t hosts_;
};

double ratio_of(const Gap& gap) { return base::ratio(gap.far, std::max(gap.near, kNear)); }

std::optional<Gap> widest_gap(std::span<const base::Nanos> sorted) {
  std::optional<Gap> widest;
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    const Gap gap{sorted[i - 1], sorted[i]};
    if (gap.far - gap.near < kGap || ratio_of(gap) < kGapRatio) continue;
    if (!widest || ratio_of(gap) > ratio_of(*widest)) widest = gap;
  }
  return widest;
}

// [host] its site: hosts that are joined by near ones.
std::vector<std::uint32_t> joined(const Latencies& latencies, base::Nanos near) {
  constexpr auto kNone = static_cast<std::uint32_t>(-1);
  std::vector<std::uint32_t> site_of(latencies.hosts(), kNone);
  std::uint32_t sites = 0;
  std::vector<std::size_t> reached;
  for (std::size_t first = 0; first < latencies.hosts(); ++first) {
    if (site_of[first] != kNone) continue;
    site_of[first] = sites;
    reached.assign(1, first);
    while (!reached.empty()) {
      const std::size_t from = reached.back();
      reached.pop_back();
      for (std::size_t to = 0; to < latencies.hosts(); ++to) {
        const base::Nanos time = latencies.between(from, to);
        if (site_of[to] != kNone || time == 0 || time > near) continue;
        site_of[to] = sites;
        reached.push_back(to);
      }
    }
    ++sites;
  }
  return site_of;
}

std::string text(base::Nanos time) {
  return fmt::format("{:.3g} ms", static_cast<double>(time) / base::kMillisecond);
}

}  // namespace

base::Result<SitesByLatency> sites_by_latency(std::span<const base::Nanos> round_trips,
                                              std::span<const std::string> host_names) {
  const Latencies latencies(round_trips, host_names.size());
  for (std::size_t host = 0; host < latencies.hosts(); ++host) {
    bool known = false;
    for (std::size_t other = 0; other < latencies.hosts(); ++other) {
      known = known || (other != host && latencies.between(host, other) > 0);
    }
    if (known) continue;
    return base::bad_input(fmt::format(
        "no round trip from or to {} was measured (is ICMP filtered?)", host_names[host]));
  }
  const auto sorted = latencies.sorted();
  const auto gap = widest_gap(sorted);
  if (!gap) {
    return base::bad_input(fmt::format("round trips between hosts, {} to {}, show no sites",
                                       text(sorted.front()), text(sorted.back())));
  }
  SitesByLatency found{.sites = {}, .near = gap->near, .far = gap->far, .farthest = sorted.back()};
  found.sites.of = joined(latencies, gap->near);
  for (std::size_t a = 0; a < latencies.hosts(); ++a) {
    for (std::size_t b = a + 1; b < latencies.hosts(); ++b) {
      if (found.sites.of[a] != found.sites.of[b] || latencies.between(a, b) <= gap->near) continue;
      return base::bad_input(fmt::format(
          "round trips show no sites: {} and {} are {} apart, and both are near others "
          "that are near each other (within {})",
          host_names[a], host_names[b], text(latencies.between(a, b)), text(gap->near)));
    }
  }
  const std::uint32_t sites = *std::max_element(found.sites.of.begin(), found.sites.of.end()) + 1;
  for (std::uint32_t site = 0; site < sites; ++site) {
    found.sites.names.push_back(fmt::format("site {}", site));
  }
  return found;
}

}  // namespace alm::meeting
