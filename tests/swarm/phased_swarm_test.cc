// Seeded swarms whose plans have several phases. ALLEMANDE_SWARM_EXCHANGES sets how many exchanges
// run, ALLEMANDE_SWARM_SEED runs the one scenario a failure has printed.
#include "phased_swarm.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>

#include "test_environment.h"

namespace alm::swarm {
namespace {

void expect_success(std::uint64_t seed, const PhasedScenario& scenario) {
  const Outcome outcome = run(scenario);
  ASSERT_EQ(outcome.failure, "")
      << describe(scenario) << "\nreplay: ALLEMANDE_SWARM_SEED=" << seed
      << " build/release/tests/swarm/phased_swarm_test --gtest_filter=PhasedSwarm.*";
}

TEST(PhasedSwarm, EveryExchangeCompletesWithEveryByteRight) {
  if (std::getenv("ALLEMANDE_SWARM_SEED") != nullptr) {
    const std::uint64_t seed = number_from("ALLEMANDE_SWARM_SEED", 0);
    expect_success(seed, random_phased_scenario(seed));
    return;
  }
  const std::uint64_t wanted = number_from("ALLEMANDE_SWARM_EXCHANGES", 6'000);
  std::uint64_t exchanges = 0;
  for (std::uint64_t seed = 1; exchanges < wanted; ++seed) {
    const PhasedScenario scenario = random_phased_scenario(seed);
    exchanges += scenario.exchanges.size();
    expect_success(seed, scenario);
    if (HasFatalFailure()) return;
  }
}

// What the swarm above is made of: no kind is missing by mistake.
TEST(PhasedScenarios, AreOfAllKinds) {
  std::set<plan::Algorithm> alone, over_hosts;
  std::set<Sizes> sizes;
  std::set<std::size_t> phases;
  bool unequal = false;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const PhasedScenario scenario = random_phased_scenario(seed);
    const bool shared = scenario.placement.shared();
    (shared ? over_hosts : alone).insert(scenario.of_hosts.algorithm);
    unequal = unequal || (shared && !scenario.placement.equal());
    phases.insert(scenario.plan_of(0).phases.size());
    for (const PhasedExchange& exchange : scenario.exchanges) sizes.insert(exchange.sizes);
  }
  EXPECT_EQ(alone.size(), 7u);
  EXPECT_EQ(over_hosts.size(), 11u);
  EXPECT_EQ(sizes.size(), 3u);
  EXPECT_TRUE(unequal);
  EXPECT_TRUE(phases.contains(2) && phases.contains(3) && phases.contains(4) && phases.contains(5));
}

TEST(PhasedReplay, TheSameSeedGivesTheSameRun) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Outcome first = run(random_phased_scenario(seed));
    const Outcome second = run(random_phased_scenario(seed));
    EXPECT_EQ(first.trace, second.trace) << "seed " << seed;
    EXPECT_EQ(first.settled, second.settled) << "seed " << seed;
  }
}

// Virtual time ends, and the ranks that wait in an exchange are stopped.
TEST(PhasedSwarms, AStallIsAFailure) {
  PhasedScenario scenario = random_phased_scenario(1);
  scenario.conditions.faults.drop = 1;
  const Outcome outcome = run(scenario);
  EXPECT_NE(outcome.failure.find("stalled"), std::string::npos) << outcome.failure;
}

}  // namespace
}  // namespace alm::swarm
