#include "meeting/site_latency.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "meeting/round_trip_table.h"

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

std::string text(base::Nanos time) {
  return fmt::format("{:.3g} ms", static_cast<double>(time) / base::kMillisecond);
}

}  // namespace

base::Result<SitesByLatency> sites_by_latency(std::span<const base::Nanos> round_trips,
                                              std::span<const std::string> host_names) {
  const RoundTripTable latencies(round_trips, host_names.size());
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
  found.sites.of = latencies.groups(gap->near);
  if (const auto apart = latencies.apart(found.sites.of, gap->near)) {
    const auto [a, b] = *apart;
    return base::bad_input(
        fmt::format("round trips show no sites: {} and {} are {} apart, and both are near others "
                    "that are near each other (within {})",
                    host_names[a], host_names[b], text(latencies.between(a, b)), text(gap->near)));
  }
  const std::uint32_t sites = *std::max_element(found.sites.of.begin(), found.sites.of.end()) + 1;
  for (std::uint32_t site = 0; site < sites; ++site) {
    found.sites.names.push_back(fmt::format("site {}", site));
  }
  return found;
}

}  // namespace alm::meeting
