#include "harness/probing.h"

#include <gtest/gtest.h>

#include "probe/rank.h"
#include "sim/test_program.h"

namespace alm::harness {
namespace {

constexpr std::uint32_t kBytes = 958;  // 1000 on the link: 80 us
constexpr base::Nanos kFrameTime = 80'000;
constexpr base::Nanos kSecond = base::kSecond;

std::vector<probe::Log> run(const topology::Cluster& cluster, const probe::Experiment& experiment,
                            const sim::Options& network = {}) {
  auto logs = simulate_probe(
      {.cluster = &cluster, .experiment = &experiment, .overhead_bytes = 42, .network = network});
  EXPECT_TRUE(logs) << logs.error().message;
  return logs ? std::move(logs).value() : std::vector<probe::Log>(cluster.host_count());
}

TEST(Probing, PacketsComeAsTheNetworkCarriesThem) {
  const auto cluster = sim::star(2);
  const probe::Experiment experiment{
      .number = 1,
      .duration = kSecond,
      .flows = {{.from = 0, .to = 1, .start = 500, .interval = 0, .packets = 10, .bytes = kBytes}}};
  const auto logs = run(cluster, experiment);
  ASSERT_EQ(logs[1].received.size(), 10u);
  for (std::uint32_t i = 0; i < 10; ++i) {
    EXPECT_EQ(logs[1].received[i].number, i);
    EXPECT_EQ(logs[1].received[i].at,
              500 + (i + 2) * kFrameTime);  // two links, stored at the switch
  }
}

TEST(Probing, AnOverloadedPortLosesWhatItCannotHold) {
  const auto cluster = sim::star(3, {}, 43);
  probe::Experiment experiment{.number = 1, .duration = kSecond, .flows = {}};
  for (const std::uint32_t from : {0u, 1u}) {
    experiment.flows.push_back(
        {.from = from, .to = 2, .start = 0, .interval = 0, .packets = 200, .bytes = kBytes});
  }
  const auto logs = run(cluster, experiment);
  // Both send at the rate of the port: the surplus of 200 packets fills the queue.
  EXPECT_NEAR(static_cast<double>(logs[2].received.size()), 200 + 43, 3);
}

TEST(Probing, EchoesAndWatchesShowTheCostsOfAHost) {
  const auto cluster = sim::star(2);
  sim::Options network;
  network.costs.send = 12'500 * sim::kPicosPerNano;
  network.costs.receive = 27'000 * sim::kPicosPerNano;
  const probe::Experiment experiment{.number = 1,
                                     .duration = kSecond,
                                     .flows = {{.from = 0,
                                                .to = 1,
                                                .start = 100'000,
                                                .interval = base::kMillisecond * 10,
                                                .packets = 5,
                                                .bytes = kBytes,
                                                .kind = probe::FlowKind::kEcho}},
                                     .watches = {{1, 0, kSecond / 2, 1000}}};
  const auto logs = run(cluster, experiment, network);
  ASSERT_EQ(logs[0].received.size(), 5u);
  const base::Nanos round = 2 * (12'500 + 2 * kFrameTime + 27'000);
  for (std::uint32_t i = 0; i < 5; ++i) {
    EXPECT_EQ(logs[0].received[i].at - logs[0].received[i].sent, round);
  }
  base::Nanos longest = 0;
  for (const probe::Stall& stall : logs[1].stalls) longest = std::max(longest, stall.length);
  EXPECT_GE(longest, 27'000);
  EXPECT_LE(longest, 27'000 + 12'500 + 2'000);
}

}  // namespace
}  // namespace alm::harness
