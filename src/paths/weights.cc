#include "paths/weights.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace alm::paths {

PathWeights::PathWeights(std::uint32_t paths, std::uint32_t batch, double alpha, double change_max)
    : weights_(paths, 1.0), batch_(batch), alpha_(alpha), change_max_(change_max) {
  assert(batch >= 1 && batch <= paths && change_max > 1);
}

std::vector<std::uint8_t> PathWeights::batch(PathSet usable, std::uint8_t first) const {
  std::vector<std::uint8_t> order;
  for (std::uint32_t i = 0; i < paths(); ++i) {
    const auto path = static_cast<std::uint8_t>((first + i) % paths());
    if ((usable & bit_of(path)) != 0) order.push_back(path);
  }
  std::stable_sort(order.begin(), order.end(),
                   [this](std::uint8_t a, std::uint8_t b) { return weights_[a] > weights_[b]; });
  if (order.size() > batch_) order.resize(batch_);
  return order;
}

void PathWeights::update(std::span<const std::uint8_t> batch, std::span<const double> times) {
  assert(batch.size() == times.size());
  double sum = 0, rates = 0;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    assert(times[i] > 0);
    sum += weights_[batch[i]];
    rates += weights_[batch[i]] / times[i];
  }
  double changed = 0;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    double& weight = weights_[batch[i]];
    const double wanted = (1 - alpha_) * weight + alpha_ * sum * (weight / times[i]) / rates;
    weight = std::clamp(wanted, weight / change_max_, weight * change_max_);
    changed += weight;
  }
  for (const std::uint8_t path : batch) weights_[path] *= sum / changed;
}

void PathWeights::relax(double part) {
  for (double& weight : weights_) weight += (1.0 - weight) * part;
}

void PathWeights::demote(std::uint8_t path, double keeps, PathSet usable) {
  const PathSet others = usable & all_paths(paths()) & ~bit_of(path);
  if (others == 0) return;
  const double share = weights_[path] * (1 - keeps) / std::popcount(others);
  weights_[path] *= keeps;
  for (std::uint32_t other = 0; other < paths(); ++other) {
    if ((others & bit_of(static_cast<std::uint8_t>(other))) != 0) weights_[other] += share;
  }
}

}  // namespace alm::paths
