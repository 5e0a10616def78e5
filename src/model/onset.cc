#include "model/onset.h"

#include <algorithm>
#include <vector>

namespace alm::model {
namespace {

constexpr double kTolerance = 1 + 1e-9;  // of limits computed in two ways

// Any size does: framing is the same for all links.
constexpr std::uint64_t kBytes = 1000;

bool is_saturated(const topology::Cluster& cluster, std::span<const base::HostId> hosts) {
  double inside = 0, between = 0;
  for (const topology::LevelLimit& limit : topology::alltoall_limits(cluster, hosts, kBytes)) {
    double& worst = limit.level.starts_with("host link") ? inside : between;
    worst = std::max(worst, limit.seconds);
  }
  return between > inside * kTolerance;
}

}  // namespace

std::optional<std::uint32_t> saturation_onset(const topology::Cluster& cluster,
                                              std::span<const base::HostId> hosts) {
  for (std::size_t count = 2; count <= hosts.size(); ++count) {
    if (is_saturated(cluster, hosts.first(count))) return static_cast<std::uint32_t>(count);
  }
  return std::nullopt;
}

}  // namespace alm::model
