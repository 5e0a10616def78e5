// 004's batch-based striping and sorting, in trains: batch and weights are those of weights.h.
// Trains go to the paths of the batch in proportion to their weights.
//
// 004 measures how long each stripe of a message takes. Here the stripes of a block leave at the
// pace of the window and end together, so the mean delay of a path's packets takes the place of
// that time: by Little's law the packets under way on a path, divided by the delay, are its
// throughput. A visit ends after 8 packets per path of the batch; then the weights change by 004's
// Eq 3, at most by a quarter at once, and the batch is chosen anew. Weights return to the mean by
// 1/64 per visit, so that a slow path is tried again.
#pragma once

#include <cstdint>
#include <vector>

#include "paths/policy.h"
#include "paths/weights.h"

namespace alm::paths {

class BssPaths final : public PathPolicy {
 public:
  BssPaths(const PathSetup& setup, std::uint32_t batch);

  std::uint8_t choose(PathSet usable) override;
  void sent(std::uint8_t path) override;
  void delivered(std::uint8_t path, base::Nanos delay) override;
  void lost(std::uint8_t path) override;
  void timed_out(std::uint8_t path) override;

  double weight(std::uint8_t path) const { return weights_.weight(path); }

 private:
  struct Stripe {
    std::uint32_t sent = 0;  // packets, in this visit
    std::uint32_t came = 0;  // lost ones included
    double delays = 0;       // their sum, in ns
  };

  void begin_visit(PathSet usable);
  void end_visit();
  void note(std::uint8_t path, double delay);

  PathWeights weights_;
  std::uint8_t first_;               // the first among paths of equal weight
  PathSet usable_ = 0;               // in this visit
  std::vector<std::uint8_t> batch_;  // empty: a visit is to begin
  std::vector<Stripe> stripes_;      // by place in the batch
  std::uint32_t came_ = 0;
  double longest_ = 0;  // longest delay in this visit, in ns
};

}  // namespace alm::paths
