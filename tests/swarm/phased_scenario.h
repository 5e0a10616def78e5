// Exchanges by plans of several phases: plans that combine blocks of several pairs of ranks in one
// message, and plans over hosts with several ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "event_loop.h"
#include "plan/placement.h"
#include "plan/plan.h"
#include "transport/config.h"

namespace alm::swarm {

// How the ranks know the sizes of the blocks (execute::Amounts).
enum class Sizes { kEqual, kWeighted, kAny };

struct PhasedExchange {
  Sizes sizes = Sizes::kEqual;
  std::uint64_t each = 0;            // kEqual, kWeighted
  std::vector<std::uint64_t> bytes;  // [from * ranks + to], whatever the sizes are
  std::vector<base::Nanos> think;    // [rank] computing before it enters
};

struct PhasedScenario {
  plan::Placement placement;
  plan::Request of_hosts;              // what their plan is made of, but for `self`
  std::vector<std::uint64_t> weights;  // [rank]
  std::vector<PhasedExchange> exchanges;
  transport::Config config;
  Conditions conditions;

  std::uint32_t ranks() const { return placement.rank_count(); }
  plan::Plan plan_of(std::uint32_t rank) const;
};

PhasedScenario random_phased_scenario(std::uint64_t seed);
std::string describe(const PhasedScenario& scenario);

}  // namespace alm::swarm
