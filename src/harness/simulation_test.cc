#include "harness/simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string_view>

#include "harness/simulation_test_run.h"
#include "plan/host_aggregation.h"

namespace alm::harness {
namespace {

using ::testing::AllOf;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;
using topology::Cluster;

// Synchronous shuffle by shift (000 Alg 1).
plan::Plan shift_plan(std::uint32_t rank, std::uint32_t ranks) {
  return plan::make_plan({.ranks = ranks, .self = {rank}, .permutation = plan::Permutation::kShift})
      .value();
}

transport::Config config(std::uint32_t window) {
  transport::Config out;
  out.window_packets = window;
  out.packet_time = 121'120;
  return out;
}

SimRequest request(const Cluster& cluster, std::uint64_t bytes, std::uint32_t window) {
  SimRequest out;
  out.cluster = &cluster;
  out.bytes = bytes;
  const std::uint32_t ranks = cluster.host_count();
  out.plan = [ranks](std::uint32_t rank) { return shift_plan(rank, ranks); };
  out.config = [window](std::uint32_t) { return config(window); };
  return out;
}

constexpr sim::Picos kFrame = 121'120'000;  // 1514 bytes at 100 Mbit/s

TEST(Simulate, Equation2IsExactOnAnIdleNetwork) {
  // T = k (p-1) g + O_s + L - g + O_r + U_r; L is two frames on a store-and-forward switch.
  for (const std::uint32_t ranks : {2u, 4u, 16u}) {
    const Cluster cluster = topology::build_one_switch(ranks);
    for (const std::uint32_t k : {1u, 4u, 64u}) {
      SimRequest wanted = request(cluster, std::uint64_t{k} * kPayload, 64);
      wanted.network.costs = {.send = 12'500'000, .receive = 27'000'000, .gap = 123'000'000};
      const SimResult result = run(wanted);
      ASSERT_EQ(result.exchange_time.size(), 1u);
      EXPECT_EQ(result.exchange_time[0], sim::Picos{k} * (ranks - 1) * 123'000'000 + 12'500'000 +
                                             2 * kFrame - 123'000'000 + 27'000'000)
          << ranks << " ranks, " << k << " packets";
      EXPECT_EQ(result.counters.data_retransmitted, 0u);
    }
  }
}

TEST(Simulate, LinkRateBoundIsExactWithoutOverheads) {
  const Cluster cluster = topology::build_one_switch(8);
  const SimResult result = run(request(cluster, 10 * kPayload, 64));
  EXPECT_EQ(result.exchange_time[0], (7 * 10 + 1) * kFrame);
  EXPECT_EQ(result.packets, 8u * 7 * 10);
  EXPECT_EQ(result.packet_hops, 2 * result.packets);
  EXPECT_EQ(result.dropped, 0u);
}

constexpr sim::Picos kAcks = 2 * 5'920'000;  // of the stage before, which leave first

// Stage s: rank r sends to r + s + 1 alone. Nobody begins before all have ended.
TEST(Simulate, StagesThatDifferFollowABarrier) {
  const Cluster cluster = topology::build_one_switch(4);
  SimRequest wanted = request(cluster, 0, 64);
  wanted.stages = 3;
  wanted.exchanges = 6;
  wanted.together = true;
  wanted.bytes_in = [](std::uint32_t stage, std::uint32_t from, std::uint32_t to) {
    return (from + stage + 1) % 4 == to ? (stage + 1) * 5 * std::uint64_t{kPayload} : 0;
  };
  const SimResult result = run(wanted);
  ASSERT_EQ(result.exchange_time.size(), 6u);
  for (std::uint32_t i = 0; i < 6; ++i) {
    EXPECT_THAT(result.exchange_time[i] - ((i % 3 + 1) * 5 + 1) * kFrame, AllOf(Ge(0), Le(kAcks)))
        << i;
  }
  EXPECT_EQ(result.counters.data_received, 2u * 4 * 5 * (1 + 2 + 3));
}

// Only rank 0 sends, in the first stage, and only rank 3 in the second.
TEST(Simulate, AStageWithoutMostRanksEnds) {
  const Cluster cluster = topology::build_one_switch(4);
  SimRequest wanted = request(cluster, 0, 64);
  wanted.stages = wanted.exchanges = 3;
  wanted.together = true;
  wanted.bytes_in = [](std::uint32_t stage, std::uint32_t from, std::uint32_t to) {
    const bool sends = stage == 0 ? from == 0 && to == 1 : stage == 2 && from == 3 && to == 0;
    return sends ? std::uint64_t{kPayload} : 0;
  };
  const SimResult result = run(wanted);
  ASSERT_EQ(result.exchange_time.size(), 3u);
  EXPECT_EQ(result.exchange_time[0], 2 * kFrame);
  EXPECT_LE(result.exchange_time[1], kAcks);
  EXPECT_THAT(result.exchange_time[2] - 2 * kFrame, AllOf(Ge(0), Le(kAcks)));
}

TEST(Simulate, ExchangesFollowOneAnother) {
  const Cluster cluster = topology::build_one_switch(4);
  SimRequest wanted = request(cluster, 5 * kPayload, 64);
  wanted.exchanges = 3;
  const SimResult result = run(wanted);
  ASSERT_EQ(result.exchange_time.size(), 3u);
  EXPECT_EQ(result.exchange_time[0], 16 * kFrame);
  for (const sim::Picos time : result.exchange_time) EXPECT_LE(time, 16 * kFrame);
  EXPECT_EQ(result.counters.data_received, 3u * 4 * 3 * 5);
}

TEST(Simulate, MatricesMayDiffer) {
  const Cluster cluster = topology::build_one_switch(4);
  SimRequest wanted = request(cluster, 0, 8);
  wanted.bytes_of = [](std::uint32_t from, std::uint32_t to) {
    return from == 0 ? 3000u * to : 0u;
  };
  const SimResult result = run(wanted);
  EXPECT_EQ(result.counters.data_received, 3u + 5 + 7);
  wanted.bytes_of = [](std::uint32_t, std::uint32_t) { return 0u; };
  EXPECT_EQ(run(wanted).exchange_time[0], 0);
}

TEST(Simulate, HostsTakePartInAnyOrderAndNumber) {
  const Cluster cluster = topology::build_tree(topology::TreeSpec{.groups = {4, 4}});
  SimRequest wanted = request(cluster, 4 * kPayload, 16);
  wanted.hosts = {{6}, {1}, {4}};
  wanted.plan = [](std::uint32_t rank) { return shift_plan(rank, 3); };
  const SimResult result = run(wanted);
  EXPECT_EQ(result.rank_end.size(), 3u);
  EXPECT_EQ(result.counters.data_received, 3u * 2 * 4);
}

// Losses, jitter and pauses: the same seed gives the same run, another one another.
TEST(Simulate, SameSeedSameRun) {
  topology::TreeSpec spec{.groups = {4, 4, 4}, .uplink_mbit_s = 150, .uplink_queue_packets = 5};
  const Cluster cluster = topology::build_tree(spec);
  const auto digest = [&](std::uint64_t seed) {
    SimRequest wanted = request(cluster, 40'000, 32);
    wanted.jitter = {.mean = 200 * sim::kPicosPerMicro, .seed = seed};
    wanted.network.pauses = {
        .mean = 50 * sim::kPicosPerMicro, .interval = 5'000 * sim::kPicosPerMicro, .seed = seed};
    wanted.exchanges = 2;
    const SimResult result = run(wanted);
    EXPECT_GT(result.dropped, 0u);
    std::vector<std::int64_t> out(result.rank_end.begin(), result.rank_end.end());
    out.insert(out.end(), result.exchange_time.begin(), result.exchange_time.end());
    for (const sim::PortStats& port : result.ports) {
      out.push_back(static_cast<std::int64_t>(port.packets * 1000 + port.dropped));
      out.push_back(port.busy);
    }
    out.push_back(static_cast<std::int64_t>(result.events));
    return out;
  };
  const auto first = digest(1);
  EXPECT_EQ(digest(1), first);
  EXPECT_NE(digest(2), first);
}

TEST(Simulate, LostPacketsAreSentAgain) {
  const Cluster cluster = topology::build_tree(topology::TreeSpec{
      .groups = {4, 4}, .uplink_mbit_s = 100, .uplink_queue_packets = 2, .core_queue_packets = 2});
  const SimResult result = run(request(cluster, 30 * kPayload, 64));
  EXPECT_GT(result.dropped, 0u);
  EXPECT_GT(result.counters.data_retransmitted, 0u);
  EXPECT_EQ(result.counters.data_received, 8u * 7 * 30);
}

TEST(Simulate, ALinkThatStaysDownEndsTheExchange) {
  const Cluster cluster = topology::build_one_switch(3);
  SimRequest wanted = request(cluster, 30 * kPayload, 8);
  wanted.config = [](std::uint32_t) {
    transport::Config out = config(8);
    out.peer_timeout = 2 * base::kSecond;
    return out;
  };
  wanted.network.faults.push_back({.kind = sim::Fault::Kind::kLinkDown, .port = 2, .start = 1});
  const auto result = simulate(wanted);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, base::ErrorCode::kPeerLost);
  EXPECT_THAT(result.error().message, HasSubstr("has not heard of rank"));
}

TEST(Simulate, LimitsEndIt) {
  const Cluster cluster = topology::build_one_switch(4);
  SimRequest wanted = request(cluster, 100 * kPayload, 8);
  wanted.network.time_max = 10 * kFrame;
  const auto result = simulate(wanted);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, base::ErrorCode::kTimeout);
  EXPECT_THAT(result.error().message, HasSubstr("not complete after 1332.320 us"));
}

TEST(Simulate, ALinkThatComesBackDoesNot) {
  const Cluster cluster = topology::build_one_switch(3);
  SimRequest wanted = request(cluster, 30 * kPayload, 8);
  wanted.network.faults.push_back(
      {.kind = sim::Fault::Kind::kLinkDown, .port = 2, .start = kFrame, .duration = 20 * kFrame});
  const SimResult result = run(wanted);
  EXPECT_GT(result.dropped, 0u);
  EXPECT_EQ(result.counters.data_received, 3u * 2 * 30);
}

TEST(Simulate, ProgressRisesAndMayStop) {
  const Cluster cluster = topology::build_one_switch(16);
  SimRequest wanted = request(cluster, 1'000'000, 64);
  double last = 0;
  int calls = 0;
  wanted.progress = [&](double share) {
    EXPECT_GE(share, last);
    last = share;
    return ++calls < 2;
  };
  const auto result = simulate(wanted);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(calls, 2);
  EXPECT_GT(last, 0);
  EXPECT_LE(last, 1);
}

TEST(Simulate, TraceLabelsSayWhatThePacketIs) {
  struct Sink final : sim::TraceSink {
    void on(const sim::TraceRecord& record) override {
      if (record.kind == sim::TraceKind::kDropped) return;
      ++packets;
      resent += (record.label & ~(kLabelResent - 1)) == kLabelResent ? 1u : 0u;
      acks += record.label == kLabelAck ? 1u : 0u;
    }
    std::uint32_t packets = 0, resent = 0, acks = 0;
  } sink;
  const Cluster cluster = topology::build_tree(topology::TreeSpec{
      .groups = {4, 4}, .uplink_mbit_s = 100, .uplink_queue_packets = 2, .core_queue_packets = 2});
  SimRequest wanted = request(cluster, 30 * kPayload, 64);
  wanted.network.trace = &sink;
  const SimResult result = run(wanted);
  EXPECT_GE(sink.packets, result.packet_hops);
  EXPECT_GE(sink.resent, result.counters.data_retransmitted);
  EXPECT_GE(sink.acks, result.counters.acks_sent);
}

TEST(Simulate, DeadlockNamesThePorts) {
  Cluster cluster;
  cluster.name = "ring";
  for (std::uint32_t i = 0; i < 5; ++i) {
    cluster.hosts.push_back({.name = "h" + std::to_string(i), .address = {}, .interface = {}});
    cluster.switches.push_back({.name = "s" + std::to_string(i),
                                .architecture = topology::Architecture::kInput,
                                .flow_control = topology::FlowControl::kBackPressure});
  }
  const auto join = [&](std::uint32_t from, std::uint32_t to) {
    cluster.links.push_back({.from = {from},
                             .to = {to},
                             .rate_up_mbit_s = 100,
                             .rate_down_mbit_s = 100,
                             .queue_up_packets = 1,
                             .queue_down_packets = 1});
  };
  for (std::uint32_t i = 0; i < 5; ++i) join(i, 5 + i);
  for (std::uint32_t i = 0; i < 5; ++i) join(5 + i, 5 + (i + 1) % 5);
  SimRequest wanted = request(cluster, 100 * kPayload, 64);
  wanted.network.output_frames = 0;
  const auto result = simulate(wanted);
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, HasSubstr("deadlock at"));
  EXPECT_THAT(result.error().message, HasSubstr("] waits for [s"));
}

TEST(Refused, BeforeAnythingRuns) {
  const Cluster cluster = topology::build_one_switch(4);
  const auto message = [](const SimRequest& wanted) {
    const auto result = simulate(wanted);
    return result.ok() ? std::string("accepted") : result.error().message;
  };
  SimRequest wanted = request(cluster, 1000, 4);
  wanted.hosts = {{1}};
  EXPECT_THAT(message(wanted), HasSubstr("two hosts or more, not 1"));
  wanted.hosts = {{1}, {1}};
  EXPECT_THAT(message(wanted), HasSubstr("takes part twice"));
  wanted.hosts = {{1}, {9}};
  EXPECT_THAT(message(wanted), HasSubstr("host 9 of a cluster of 4"));
  wanted = request(cluster, 1000, 4);
  wanted.exchanges = 0;
  EXPECT_THAT(message(wanted), HasSubstr("0 exchanges"));
  wanted = request(cluster, 1000, 4);
  wanted.memory_max = 1000;
  EXPECT_THAT(message(wanted), HasSubstr("MiB are allowed"));
  wanted = request(cluster, std::uint64_t{1} << 50, 4);
  EXPECT_THAT(message(wanted), HasSubstr("packets"));
}

TEST(Ports, AreFoundByTheirEnds) {
  const Cluster cluster = topology::build_tree(topology::TreeSpec{.groups = {2, 2}});
  const auto up = find_port(cluster, "leaf0", "core");
  ASSERT_TRUE(up.ok());
  EXPECT_EQ(port_name(cluster, up.value()), "leaf0 -> core");
  EXPECT_EQ(find_port(cluster, "core", "leaf0").value(), routing::reverse(up.value()));
  EXPECT_THAT(find_port(cluster, "h0", "core").error().message, HasSubstr("no link joins"));
}

// Ranks of a host hand over messages without bytes, too, and nobody waits for what is in them.
TEST(Simulate, RanksOfAHostThatHaveNothingToSend) {
  const Cluster cluster = topology::build_one_switch(2);
  const std::vector<std::string_view> names = {"a", "a", "b", "b"};
  const auto where = plan::Placement::of(names);
  SimRequest wanted = request(cluster, 100, 8);
  for (const std::uint32_t host : where.host_of) wanted.hosts.push_back(base::HostId{host});
  wanted.plan = [&](std::uint32_t rank) -> base::Result<plan::Plan> {
    return plan::over_hosts(shift_plan(where.host_of[rank], 2), where, {rank});
  };
  wanted.exchanges = 2;
  EXPECT_EQ(run(wanted).counters.data_received, 4u);
  wanted.bytes_of = [](std::uint32_t from, std::uint32_t) { return from == 1 ? 0u : 100u; };
  EXPECT_EQ(run(wanted).counters.data_received, 4u);
  wanted.bytes_of = [](std::uint32_t, std::uint32_t) { return 0u; };
  EXPECT_EQ(run(wanted).counters.data_received, 0u);
}

}  // namespace
}  // namespace alm::harness
