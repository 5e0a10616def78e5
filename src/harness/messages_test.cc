// Exchanges over messages on lossless networks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "harness/simulation.h"
#include "harness/simulation_test_run.h"

namespace alm::harness {
namespace {

using ::testing::HasSubstr;
using topology::Cluster;

constexpr sim::Picos kGigabitFrame = 12'112'000;  // 1514 bytes at 1 Gbit/s
constexpr sim::Picos kGigabitAck = 528'000;       // 66 bytes
constexpr std::uint64_t kChunk = (64u << 10) + 64;

SimRequest request(const Cluster& cluster, plan::Algorithm algorithm, std::uint64_t bytes) {
  SimRequest out;
  out.cluster = &cluster;
  out.bytes = bytes;
  const std::uint32_t ranks = cluster.host_count();
  out.plan = [=](std::uint32_t rank) {
    return plan::make_plan({.ranks = ranks, .self = {rank}, .algorithm = algorithm});
  };
  out.config = [](std::uint32_t) { return transport::Config{}; };
  const bool direct = algorithm == plan::Algorithm::kDirect;
  out.messages = direct ? MessageFlow{} : MessageFlow{.outstanding = 4, .chunk_bytes = kChunk};
  return out;
}

Cluster pair() {
  Cluster cluster = topology::build_tree({.groups = {2}, .host_mbit_s = 1000});
  cluster.switches[0].flow_control = topology::FlowControl::kBackPressure;
  return cluster;
}

TEST(Messages, AMessageAndItsAcknowledgementAreExact) {
  const Cluster cluster = pair();
  for (const std::uint32_t packets : {1u, 5u}) {
    const SimResult result =
        run(request(cluster, plan::Algorithm::kDirect, std::uint64_t{packets} * kPayload));
    // Store and forward: one frame more, then the acknowledgement over two links.
    EXPECT_EQ(result.exchange_time[0], (packets + 1) * kGigabitFrame + 2 * kGigabitAck);
    EXPECT_EQ(result.counters.data_sent, 2u * packets);
    EXPECT_EQ(result.counters.acks_sent, 2u);
  }
}

TEST(Messages, ChunksAreAcknowledgedOneByOne) {
  const Cluster cluster = pair();
  SimRequest wanted = request(cluster, plan::Algorithm::kDirect, 4 * kPayload);
  wanted.messages = MessageFlow{.outstanding = 1, .chunk_bytes = 2 * kPayload};
  // Two full ones and an empty one, which ends the block.
  EXPECT_EQ(run(wanted).counters.acks_sent, 6u);
}

TEST(Messages, ExchangesFollowOneAnother) {
  const Cluster cluster = topology::build_fat_tree(16, {.lossless = true}).value();
  SimRequest wanted = request(cluster, plan::Algorithm::kSyncShuffle, 20'000);
  wanted.exchanges = 3;
  wanted.jitter = {.mean = 50'000'000, .seed = 3};
  const SimResult result = run(wanted);
  EXPECT_EQ(result.exchange_time.size(), 3u);
  EXPECT_EQ(result.counters.acks_sent, 3u * 16 * 15);
}

// A ring and back: each host sends to one other in each stage, in the second twice as much.
TEST(Messages, StagesFollowOneAnotherTogether) {
  const Cluster cluster = topology::build_fat_tree(16, {.lossless = true}).value();
  SimRequest wanted = request(cluster, plan::Algorithm::kSyncShuffle, 0);
  wanted.bytes_in = [](std::uint32_t stage, std::uint32_t from, std::uint32_t to) -> std::uint64_t {
    return to == (from + (stage == 0 ? 1 : 15)) % 16 ? (stage + 1) * kChunk / 2 : 0;
  };
  wanted.stages = 2;
  wanted.together = true;
  wanted.exchanges = 4;
  wanted.jitter = {.mean = 50'000'000, .seed = 3};
  const SimResult result = run(wanted);
  // A block that fills whole chunks ends with an empty one.
  EXPECT_EQ(result.counters.acks_sent, 2u * 16 * (1 + 2));
  ASSERT_EQ(result.exchange_time.size(), 4u);
  EXPECT_GT(result.exchange_time[1], result.exchange_time[0]);
  EXPECT_GT(result.exchange_time[3], result.exchange_time[2]);
}

// In each of four stages another pair of hosts has something to send.
TEST(Messages, StagesWithoutABarrierOverlap) {
  const Cluster cluster = topology::build_fat_tree(16, {.lossless = true}).value();
  SimRequest wanted = request(cluster, plan::Algorithm::kSyncShuffle, 0);
  wanted.bytes_in = [](std::uint32_t stage, std::uint32_t from, std::uint32_t to) -> std::uint64_t {
    const std::uint32_t sender = 2 * stage;
    return from == sender && to == sender + 1 ? 10 * kChunk : 0;
  };
  wanted.stages = 4;
  wanted.exchanges = 4;
  const auto total = [&](bool together) {
    wanted.together = together;
    const auto times = run(wanted).exchange_time;
    return std::accumulate(times.begin(), times.end(), sim::Picos{0});
  };
  EXPECT_GT(total(true), 3 * total(false));
}

// Everybody's first block is for rank 0: the network is full of what one port must carry.
TEST(Messages, PostingEverythingInRankOrderBlocksALosslessNetwork) {
  for (const Cluster& cluster :
       {topology::build_fat_tree(64, {.queue_packets = 32, .lossless = true}).value(),
        topology::build_ib_144()}) {
    const SimResult direct = run(request(cluster, plan::Algorithm::kDirect, 64 << 10));
    const SimResult ours = run(request(cluster, plan::Algorithm::kSyncShuffle, 64 << 10));
    EXPECT_EQ(direct.dropped + ours.dropped, 0u);
    EXPECT_GE(static_cast<double>(direct.exchange_time[0]),
              1.2 * static_cast<double>(ours.exchange_time[0]))
        << cluster.name;
  }
}

TEST(Messages, NetworksThatDropAreRefused) {
  const Cluster cluster = topology::build_fat_tree(16).value();
  const auto result = simulate(request(cluster, plan::Algorithm::kDirect, 1000));
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, HasSubstr("switch `edge0` drops what it cannot hold"));
}

TEST(Messages, PlansOfSeveralPhasesAreRefused) {
  const Cluster cluster = topology::build_fat_tree(16, {.lossless = true}).value();
  const auto result = simulate(request(cluster, plan::Algorithm::kBruck, 1000));
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, HasSubstr("one phase"));
}

}  // namespace
}  // namespace alm::harness
