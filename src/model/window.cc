#include "model/window.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace alm::model {
namespace {

constexpr double kTolerance = 1e-9;

}  // namespace

double packets_per_step(std::uint32_t ranks, std::uint32_t leaf_hosts) {
  assert(leaf_hosts > 0 && leaf_hosts <= ranks);
  if (leaf_hosts == ranks) return 1;
  return static_cast<double>(ranks - leaf_hosts) * leaf_hosts / (ranks - 1);
}

std::uint32_t loss_onset_window(double buffer_packets, double nu, bool acknowledged) {
  assert(nu > 0);
  const double window = buffer_packets / (acknowledged ? 2 * nu : nu);
  return static_cast<std::uint32_t>(std::max(1.0, std::floor(window + kTolerance)));
}

std::uint32_t least_window(double latency_s, double gap_s) {
  assert(gap_s > 0);
  return static_cast<std::uint32_t>(std::max(1.0, std::ceil(latency_s / gap_s - kTolerance)));
}

}  // namespace alm::model
