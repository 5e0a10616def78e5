// Seeded swarms. ALLEMANDE_SWARM_EXCHANGES sets how many exchanges run, ALLEMANDE_SWARM_SEED runs
// the one scenario a failure has printed.
#include "swarm.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "test_environment.h"

namespace alm::swarm {
namespace {

void expect_success(std::uint64_t seed, std::uint64_t* exchanges) {
  const Scenario scenario = random_scenario(seed);
  *exchanges += scenario.exchanges;
  const Outcome outcome = run(scenario);
  ASSERT_EQ(outcome.failure, "") << describe(scenario) << "\nreplay: ALLEMANDE_SWARM_SEED=" << seed
                                 << " build/release/tests/swarm/swarm_test --gtest_filter=Swarm.*";
}

TEST(Swarm, EveryExchangeCompletesWithEveryByteRight) {
  std::uint64_t exchanges = 0;
  if (std::getenv("ALLEMANDE_SWARM_SEED") != nullptr) {
    expect_success(number_from("ALLEMANDE_SWARM_SEED", 0), &exchanges);
    return;
  }
  const std::uint64_t wanted = number_from("ALLEMANDE_SWARM_EXCHANGES", 10'000);
  for (std::uint64_t seed = 1; exchanges < wanted; ++seed) {
    expect_success(seed, &exchanges);
    if (HasFatalFailure()) return;
  }
}

TEST(Swarm, WithheldBlocksArriveOnceTheyAreThere) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    Scenario scenario = random_withholding(seed);
    const Outcome outcome = run(scenario);
    ASSERT_EQ(outcome.failure, "") << describe(scenario) << "\nseed " << seed;
    if (scenario.faults.corrupt > 0) continue;
    const Outcome bare = run_without_bytes(scenario);
    ASSERT_EQ(bare.failure, "") << describe(scenario) << "\nseed " << seed;
    ASSERT_EQ(outcome.trace, bare.trace) << "seed " << seed;
  }
}

// Packets overtake each other across paths, and one path may be dead.
TEST(Paths, EveryExchangeCompletesWithEveryByteRight) {
  const std::uint64_t seeds = number_from("ALLEMANDE_SWARM_PATH_SEEDS", 300);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const Scenario scenario = random_paths(seed);
    const Outcome outcome = run(scenario);
    ASSERT_EQ(outcome.failure, "") << describe(scenario) << "\nseed " << seed;
    if (scenario.faults.corrupt > 0 || seed % 4 != 0) continue;
    const Outcome bare = run_without_bytes(scenario);
    ASSERT_EQ(bare.failure, "") << describe(scenario) << "\nseed " << seed;
    ASSERT_EQ(outcome.trace, bare.trace) << "seed " << seed;
  }
}

// Some of what is lost is told by parities, and some of those are lost as well.
TEST(Far, EveryExchangeCompletesWithEveryByteRight) {
  std::uint64_t recovered = 0, parities = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    const Scenario scenario = random_far(seed);
    const Outcome outcome = run(scenario);
    ASSERT_EQ(outcome.failure, "") << describe(scenario) << "\nseed " << seed;
    recovered += outcome.total.data_recovered;
    parities += outcome.total.parities_sent;
    if (scenario.faults.corrupt > 0 || seed % 4 != 0) continue;
    const Outcome bare = run_without_bytes(scenario);
    ASSERT_EQ(bare.failure, "") << describe(scenario) << "\nseed " << seed;
    ASSERT_EQ(outcome.trace, bare.trace) << "seed " << seed;
  }
  EXPECT_GT(recovered, 500u);
  EXPECT_GT(parities, 2 * recovered);
}

Scenario uniform(PeerId ranks, std::uint64_t packets, std::uint32_t window) {
  Scenario scenario;
  scenario.ranks = ranks;
  scenario.exchanges = 1;
  scenario.seed = 1;
  scenario.config.datagram_bytes = 124;
  scenario.config.packet_time = 100'000;
  scenario.config.timer_jitter = base::kMillisecond;
  scenario.config.window_packets = window;
  scenario.faults.delay = 50'000;
  scenario.port_queue = 43;
  scenario.bytes = {std::vector<std::uint64_t>(ranks * ranks, packets * 100)};
  scenario.planned.resize(1);
  scenario.think = {std::vector<base::Nanos>(ranks, 0)};
  return scenario;
}

// 000 Eq 2: k (p-1) packet times, plus the latency of the last one, when nobody is late.
TEST(Pair, LosslessNetworkReachesTheBoundWithoutRetransmission) {
  for (const PeerId ranks : {2u, 3u, 8u, 16u}) {
    for (const std::uint64_t packets : {1u, 7u, 100u}) {
      const Scenario scenario = uniform(ranks, packets, 8);
      const Outcome outcome = run(scenario);
      ASSERT_EQ(outcome.failure, "");
      EXPECT_EQ(outcome.total.data_retransmitted, 0u);
      EXPECT_EQ(outcome.dropped, 0u);
      const base::Nanos bound =
          static_cast<base::Nanos>(packets * (ranks - 1)) * scenario.config.packet_time + 200'000;
      EXPECT_LE(outcome.finished, bound + bound / 100) << ranks << " ranks, " << packets;
    }
  }
}

// A network of 10 Gbit/s or so: a packet a microsecond, 20 us there and back.
Scenario fast(double drop, std::uint64_t packets, std::uint64_t seed) {
  Scenario scenario = uniform(16, packets, 32);
  scenario.seed = seed;
  scenario.config.packet_time = scenario.config.limit_time = 1'000;
  scenario.config.latency = 12'000;
  scenario.faults.delay = 10'000;
  scenario.faults.drop = drop;
  scenario.port_queue = 400;
  return scenario;
}

// A loss costs some round trips, not milliseconds, and those by accident leave the window alone.
// Sometimes what is sent again, or the question for it, is lost too: few packets are judged by
// their mean.
TEST(Loss, IsFoundByRoundTrips) {
  constexpr std::uint64_t kSeeds = 20;
  base::Nanos few_whole = 0, few_lossy = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Outcome few = run(fast(0.01, 7, seed));
    ASSERT_EQ(few.failure, "");
    EXPECT_GT(few.total.data_retransmitted, 0u);
    few_lossy += few.finished;
    few_whole += run(fast(0, 7, seed)).finished;
    const Outcome many = run(fast(0.01, 100, seed));
    ASSERT_EQ(many.failure, "");
    EXPECT_LE(many.finished, run(fast(0, 100, seed)).finished * 5 / 4) << "seed " << seed;
    EXPECT_LE(many.total.data_retransmitted, many.dropped) << "seed " << seed;
  }
  EXPECT_LE(few_lossy, 3 * few_whole);
}

TEST(Loss, NobodyAsksWhereNothingIsLost) {
  for (const std::uint64_t packets : {1u, 7u, 100u}) {
    const Outcome outcome = run(fast(0, packets, 1));
    ASSERT_EQ(outcome.failure, "");
    EXPECT_EQ(outcome.total.data_retransmitted, 0u);
    EXPECT_EQ(outcome.total.probes_sent, 0u) << packets;
    EXPECT_EQ(outcome.total.window_cuts, 0u);
  }
}

// One rank is late by 500 round trips, and all wait for it and for each other. The time between two
// questions doubles: there are seven or eight.
TEST(Loss, WhoeverIsLateIsAskedLessAndLess) {
  Scenario scenario = fast(0, 100, 1);
  scenario.think[0][5] = 10 * base::kMillisecond;
  const Outcome outcome = run(scenario);
  ASSERT_EQ(outcome.failure, "");
  EXPECT_EQ(outcome.total.data_retransmitted, 0u);
  EXPECT_LE(outcome.total.probes_sent, 16u * 15 * 9);
}

constexpr paths::PathRule kStriping[] = {paths::PathRule::kRotate,      paths::PathRule::kRandom,
                                         paths::PathRule::kLeastLoaded, paths::PathRule::kEven,
                                         paths::PathRule::kBss,         paths::PathRule::kHsam,
                                         paths::PathRule::kRecycled,    paths::PathRule::kBitmap};

// Where paths take differently long, packets overtake each other all the time, and nothing is lost.
TEST(Paths, StripingResendsNoHealthyPacket) {
  for (const paths::PathRule rule : kStriping) {
    for (const PeerId ranks : {2u, 8u}) {
      Scenario scenario = uniform(ranks, 100, 8);
      scenario.config.paths = 4;
      scenario.config.path_rule = rule;
      scenario.config.path_batch = 2;
      scenario.faults.path_delay = {0, 300'000, 700'000, 1'500'000};
      const Outcome outcome = run(scenario);
      ASSERT_EQ(outcome.failure, "") << name_of(rule);
      EXPECT_EQ(outcome.dropped, 0u) << name_of(rule);
      EXPECT_EQ(outcome.total.data_retransmitted, 0u) << name_of(rule) << ", " << ranks << " ranks";
      EXPECT_EQ(outcome.total.path_silences, 0u) << name_of(rule);
      EXPECT_LE(outcome.total.acks_sent, outcome.total.data_sent / 2) << name_of(rule);
    }
  }
}

// Several path numbers over one path: nothing overtakes, and nothing more is sent.
TEST(Paths, SeveralNumbersOverOnePathCostNothing) {
  const Outcome one = run(uniform(16, 100, 8));
  for (const paths::PathRule rule : kStriping) {
    Scenario scenario = uniform(16, 100, 8);
    scenario.config.paths = 4;
    scenario.config.path_rule = rule;
    const Outcome outcome = run(scenario);
    ASSERT_EQ(outcome.failure, "");
    EXPECT_EQ(outcome.total.data_retransmitted, 0u) << name_of(rule);
    EXPECT_LE(outcome.finished, one.finished + one.finished / 50) << name_of(rule);
    EXPECT_LE(outcome.total.acks_sent, one.total.acks_sent + 2 * 16) << name_of(rule);
  }
}

// A path dies in flight. What it swallowed is found missing and goes by others; from then on nearly
// nothing is sent by it.
TEST(Paths, ADeadPathIsLeftAlone) {
  Scenario healthy = uniform(8, 400, 8);
  const Outcome before = run(healthy);
  for (const paths::PathRule rule : kStriping) {
    Scenario scenario = healthy;
    scenario.config.paths = 4;
    scenario.config.path_rule = rule;
    scenario.faults.dead_path = 1;
    scenario.faults.dead_from = 20 * base::kMillisecond;
    const Outcome outcome = run(scenario);
    ASSERT_EQ(outcome.failure, "") << name_of(rule);
    EXPECT_GT(outcome.total.path_silences, 0u) << name_of(rule);
    // One path at a time: a peer that has met the dead one waits until that is found out.
    const base::Nanos thirds = rule == paths::PathRule::kBss ? 5 : 4;
    EXPECT_LE(outcome.finished, before.finished * thirds / 3) << name_of(rule);
    EXPECT_LE(outcome.total.data_retransmitted, outcome.total.data_sent / 50) << name_of(rule);
  }
}

TEST(Pair, LateRanksCostTheirLatenessAndLittleMore) {
  Scenario scenario = uniform(16, 50, 6);
  for (PeerId rank = 0; rank < scenario.ranks; ++rank) {
    scenario.think[0][rank] = static_cast<base::Nanos>(rank % 5) * 400'000;
  }
  const Outcome outcome = run(scenario);
  ASSERT_EQ(outcome.failure, "");
  EXPECT_EQ(outcome.total.data_retransmitted, 0u);
  const base::Nanos bound = 15 * 50 * scenario.config.packet_time + 1'600'000;
  EXPECT_LE(outcome.finished, bound + bound / 20);
}

// A port that takes 43 packets, asked for ten times as much as the others by everybody: nothing is
// lost, and the exchange takes as long as the port needs and the steps allow for.
TEST(Steps, AHotReceiverLosesNothing) {
  Scenario scenario = uniform(16, 20, 8);
  for (PeerId from = 0; from < 16; ++from) scenario.bytes[0][from * 16 + 3] *= 10;
  scenario.planned = scenario.bytes;
  const Outcome outcome = run(scenario);
  ASSERT_EQ(outcome.failure, "");
  EXPECT_EQ(outcome.dropped, 0u);
  EXPECT_EQ(outcome.total.data_retransmitted, 0u);
  const base::Nanos bound = 15 * 200 * scenario.config.packet_time;
  EXPECT_LE(outcome.finished, bound + bound / 10);
}

// Design section 5: the receive clock alone stalls for good under loss; either rule does not.
TEST(Rule, TheReceiveClockAloneStallsWhereEitherRuleDoesNot) {
  Scenario scenario = uniform(4, 60, 2);
  scenario.time_max = 60 * base::kSecond;
  // One rank sends to all and receives nothing.
  for (PeerId from = 1; from < 4; ++from) {
    for (PeerId to = 0; to < 4; ++to) scenario.bytes[0][from * 4 + to] = 0;
  }
  EXPECT_EQ(run(scenario).failure, "");
  scenario.config.send_rule = transport::SendRule::kReceiveClock;
  EXPECT_NE(run(scenario).failure, "");
}

TEST(Replay, TheSameSeedGivesTheSameRun) {
  for (const std::uint64_t seed : {3u, 17u, 99u}) {
    const Outcome first = run(random_scenario(seed));
    const Outcome second = run(random_scenario(seed));
    EXPECT_EQ(first.settled, second.settled);
    EXPECT_EQ(first.total.data_retransmitted, second.total.data_retransmitted);
  }
}

// The engine without bytes is the protocol that the channel speaks: the same datagrams at the same
// times, whatever the network does to them.
TEST(Equivalence, WithAndWithoutBytesTheSameDatagramsLeave) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Scenario scenario = random_scenario(seed);
    scenario.faults.corrupt = 0;
    const Outcome bytes = run(scenario);
    const Outcome bare = run_without_bytes(scenario);
    ASSERT_EQ(bytes.failure, "");
    ASSERT_EQ(bare.failure, "");
    ASSERT_EQ(bytes.trace, bare.trace) << "seed " << seed;
    ASSERT_EQ(bytes.settled, bare.settled) << "seed " << seed;
  }
}

// Every datagram of seeded swarms: time, rank, peer and header fields. A change that is meant to
// alter them records the digests anew (ALLEMANDE_UPDATE_DIGESTS=1) and says so in its commit.
TEST(Digests, SeededSwarmsSendTheDatagramsRecorded) {
  constexpr std::uint64_t kSeeds = 300;
  std::string found;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    found += fmt::format("{} {:016x}\n", seed, run(random_scenario(seed)).trace);
  }
  const std::string path = std::string(ALM_SOURCE_DIR) + "/tests/fixtures/swarm/digests.txt";
  if (std::getenv("ALLEMANDE_UPDATE_DIGESTS") != nullptr) std::ofstream(path) << found;
  std::stringstream recorded;
  recorded << std::ifstream(path).rdbuf();
  EXPECT_EQ(found, recorded.str());
}

}  // namespace
}  // namespace alm::swarm
