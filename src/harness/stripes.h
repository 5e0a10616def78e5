// Cuts messages of 004's layer into stripes and adapts the weights of paths to their completions.
// One object for each pair of sender and receiver.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "paths/policy.h"
#include "paths/weights.h"
#include "sim/time.h"

namespace alm::harness {

struct Stripe {
  std::uint8_t path = 0;
  double weight = 0;  // w_i; the stripe has w_i / W_batch of the message
  std::uint64_t bytes = 0;
};

// kBadInput for rules that choose packet by packet: they have no stripes.
base::Status check_striping(paths::PathRule rule);

class Striping {
 public:
  // Preconditions: check_striping() and paths::check_paths() succeed. `alpha`: see 004 Eq 3.
  Striping(const paths::PathSetup& setup, double alpha);

  // Messages of up to `small` bytes are one stripe, on the next path in turn.
  std::vector<Stripe> cut(std::uint64_t bytes, std::uint64_t small);
  // All stripes of a message are complete; times[i] after it was posted, stripe i was found
  // complete.
  void completed(const std::vector<Stripe>& stripes, const std::vector<sim::Picos>& times);
  const paths::PathWeights& weights() const { return weights_; }

 private:
  paths::PathSetup setup_;
  paths::PathWeights weights_;
  std::unique_ptr<paths::PathPolicy> whole_;  // for rules that send a message by one path
  std::uint8_t turn_;
};

}  // namespace alm::harness
