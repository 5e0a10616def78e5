// Weights of the paths to one peer (004, 4.3): batch-based striping and sorting.
//
// All weights are equal at first. A message takes the n_batch heaviest paths, path i of them
// w_i / W_batch of it. When its stripes have come after t_i,
//
//   w_i' = (1 - alpha) w_i + alpha W_batch (w_i / t_i) / sum over the batch of (w_k / t_k)   (Eq 3)
//
// The paper takes the batch from the front of a "non-decreasing" order; that would be the worst
// paths, and its results say that the heaviest are meant. HSAM is n_batch = n_paths.
//
// A completion that is found late makes its path look slow. In 004's case 2 the next message then
// takes 70 % longer, although the paper says that it never gets worse. `change_max` limits that: no
// weight of the batch changes by more than this factor at once, before the batch is scaled to its
// old sum.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "paths/policy.h"

namespace alm::paths {

constexpr double kAlpha = 0.95;  // 004, 4.3
constexpr double kUnbounded = std::numeric_limits<double>::infinity();

class PathWeights {
 public:
  // 1 <= batch <= paths. `change_max` > 1.
  PathWeights(std::uint32_t paths, std::uint32_t batch, double alpha = kAlpha,
              double change_max = kUnbounded);

  // The batch of the next message, heaviest first; equal weights in cyclic order from `first`. Only
  // paths of `usable`, which may be fewer than a batch.
  std::vector<std::uint8_t> batch(PathSet usable, std::uint8_t first = 0) const;
  // The stripes of a batch have taken `times`, all above 0.
  void update(std::span<const std::uint8_t> batch, std::span<const double> times);
  // Moves every weight towards the mean by this part of the difference, 0 to 1.
  void relax(double part);
  // The path keeps this part of its weight; the others of `usable` get the rest.
  void demote(std::uint8_t path, double keeps, PathSet usable);

  double weight(std::uint8_t path) const { return weights_[path]; }
  double total() const { return static_cast<double>(weights_.size()); }  // W_total
  std::uint32_t paths() const { return static_cast<std::uint32_t>(weights_.size()); }

 private:
  std::vector<double> weights_;  // 1 each at first
  std::uint32_t batch_;
  double alpha_, change_max_;
};

}  // namespace alm::paths
