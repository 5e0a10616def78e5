// Peers far away: packets leave by the pace, and a block may be far ahead of its acknowledgements.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <random>
#include <vector>

#include "blocks/parity_code.h"
#include "transport/channel_test_group.h"
#include "transport/engine.h"

namespace alm::transport {
namespace {

using base::kMicrosecond;
using base::kMillisecond;

// A full frame of the group has 124 bytes and 42 around them.
Config paced(base::Nanos pace) {
  Config config;
  config.pace = pace;
  config.pace_burst_packets = 3;
  config.window_packets = 4096;
  config.span_packets = 4096;
  return config;
}

TEST(FarPeers, APacketLeavesEveryPace) {
  Group group(2, paced(100 * kMicrosecond));
  group.start(0, 0, 50 * kPacket);
  group.start(1, 0, 50 * kPacket);
  EXPECT_EQ(group.pull(0, 0).size(), 1u);
  EXPECT_EQ(group[0].deadline(), 100 * kMicrosecond);
  EXPECT_TRUE(group.pull(0, 99 * kMicrosecond).empty());
  for (int i = 1; i < 50; ++i) {
    ASSERT_EQ(group.pull(0, i * 100 * kMicrosecond).size(), 1u) << i;
  }
  EXPECT_GT(group[0].deadline(), 5 * kMillisecond);  // nothing is left to be paced
}

TEST(FarPeers, WhoIsLateMakesUpForABurst) {
  Group group(2, paced(100 * kMicrosecond));
  group.start(0, 0, 50 * kPacket);
  EXPECT_EQ(group.pull(0, 0).size(), 1u);
  EXPECT_EQ(group.pull(0, 2 * kMillisecond).size(), 4u);  // the one that is due, and three
  EXPECT_EQ(group[0].deadline(), 2 * kMillisecond + 100 * kMicrosecond);
}

TEST(FarPeers, ShortPacketsTakeLess) {
  Group group(2, paced(100 * kMicrosecond));
  group.start(0, 0, 17);
  EXPECT_EQ(group.pull(0, 0).size(), 1u);
  group.start(1, 0, 17);
  // 24 + 17 + 42 bytes are half of 166. Nothing else is to be sent, so that only timers count.
  EXPECT_TRUE(group.pull(0, 50 * kMicrosecond).empty());
}

TEST(FarPeers, TheShortEndOfABlockCountsForMoreWhereItIsSaid) {
  for (const double least : {0.0, 0.8}) {
    Config config = paced(100 * kMicrosecond);
    config.pace_end_least = least;
    Group group(3, config);
    group.start(0, 0, kPacket + kPacket / 4);  // no shorter end is left at the end of a block
    for (int i = 0; i < 3; ++i) {
      ASSERT_EQ(group.pull(0, i * 100 * kMicrosecond).size(), 1u);
    }
    // The third packet is the first end: a little more than half a frame.
    const base::Nanos after = least > 0.5 ? 80 * kMicrosecond : 55 * kMicrosecond;
    EXPECT_NEAR(static_cast<double>(group[0].deadline() - 200 * kMicrosecond),
                static_cast<double>(after), static_cast<double>(kMicrosecond));
  }
}

// Both directions of one pair, a fixed time long, losing some packets of any kind.
struct LongRoute {
  struct Flying {
    base::Nanos at = 0;
    Wire datagram;
  };
  base::Nanos latency = 5 * kMillisecond;
  std::deque<Flying> flying;
  std::mt19937 random{11};
  std::uint32_t lost_per_thousand = 0;
  std::function<bool(const Wire&)> loses = [](const Wire&) { return false; };

  // Until both have everything; the time of it, or `most`.
  base::Nanos run(Group& group, base::Nanos most, base::Nanos from = 0) {
    constexpr base::Nanos kStep = 20 * kMicrosecond;
    for (base::Nanos now = from; now < most; now += kStep) {
      for (PeerId self = 0; self < 2; ++self) {
        for (Wire& sent : group.pull(self, now)) {
          const bool by_chance = random() % 1000 < lost_per_thousand;
          if (!by_chance && !loses(sent)) flying.push_back({now + latency, sent});
        }
      }
      while (!flying.empty() && flying.front().at <= now) {
        group.deliver(flying.front().datagram, now);
        flying.pop_front();
      }
      if (group[0].complete() && group[1].complete()) return now;
    }
    return most;
  }
};

constexpr std::uint64_t kPackets = 3000;
constexpr base::Nanos kPace = 20 * kMicrosecond;  // 500 packets in a round trip of 10 ms

TEST(FarPeers, OnePeerMayHaveMorePacketsUnderWayThanABitmapTells) {
  Group group(2, paced(kPace));
  for (PeerId rank = 0; rank < 2; ++rank) group.start(rank, 0, kPackets * kPacket);
  const base::Nanos took = LongRoute().run(group, base::kSecond);
  EXPECT_LE(took, kPackets * kPace + 6 * kMillisecond);
  EXPECT_EQ(group[0].counters().data_retransmitted, 0u);
  for (PeerId rank = 0; rank < 2; ++rank) group.expect_received(rank, kPackets * kPacket);
}

TEST(FarPeers, WhatIsLostOnTheLongRouteIsSentAgainWhileTheRestGoesOn) {
  Config config = paced(kPace);
  config.round_trip = 10 * kMillisecond;
  config.retransmit_budget_packets = 64;
  config.pace_yields = true;
  Group group(2, config);
  for (PeerId rank = 0; rank < 2; ++rank) group.start(rank, 0, kPackets * kPacket);
  LongRoute route;
  route.lost_per_thousand = 10;
  const base::Nanos took = route.run(group, 2 * base::kSecond);
  EXPECT_LE(took, 3 * (kPackets * kPace + 5 * kMillisecond) / 2);
  const auto& counters = group[0].counters();
  EXPECT_GT(counters.data_retransmitted, 0u);
  EXPECT_LT(counters.data_retransmitted, kPackets / 20);  // about what was lost
  for (PeerId rank = 0; rank < 2; ++rank) group.expect_received(rank, kPackets * kPacket);
}

// The first of a pair gets lost again: no timer has to find out.
TEST(FarPeers, WhatIsSentAgainGoesTwice) {
  constexpr std::uint32_t kLost = 1000;
  const auto took = [](int losses, std::uint64_t resent) {
    Config config = paced(kPace);
    config.round_trip = 10 * kMillisecond;
    config.retransmit_budget_packets = 64;
    Group group(2, config);
    for (PeerId rank = 0; rank < 2; ++rank) group.start(rank, 0, (kLost + 1) * kPacket);
    LongRoute route;
    route.loses = [&](const Wire& sent) {
      const auto header = sent.header();
      const bool last = header.type == wire::Type::kData && header.packet == kLost;
      return sent.from == 0 && last && losses-- > 0;
    };
    const base::Nanos end = route.run(group, base::kSecond);
    EXPECT_EQ(group[0].counters().data_retransmitted, resent);
    return end;
  };
  const base::Nanos once = took(1, 2);
  EXPECT_LT(took(2, 2), once + kMillisecond);
  EXPECT_GT(took(3, 4), once + 10 * kMillisecond);
}

// Each end asks when the other does. The answer counts that comes after the next question.
TEST(FarPeers, BothEndsMissTheLastPacket) {
  for (const base::Nanos expected : {10 * kMillisecond, 4 * kMillisecond, base::Nanos{0}}) {
    Config config = paced(kPace);
    config.round_trip = expected;
    config.retransmit_budget_packets = 64;
    Group group(2, config);
    for (PeerId rank = 0; rank < 2; ++rank) group.start(rank, 0, 3 * kPacket);
    LongRoute route;
    std::array<int, 2> losses{1, 1};
    route.loses = [&](const Wire& sent) {
      const auto header = sent.header();
      const bool last = header.type == wire::Type::kData && header.packet == 2;
      return last && losses.at(sent.from)-- > 0;
    };
    EXPECT_LT(route.run(group, 10 * base::kSecond), 60 * kMillisecond) << expected;
    EXPECT_LE(group[0].counters().probes_sent, 10u) << expected;
  }
}

// Otherwise they would fill the queue that was too short for them before.
TEST(FarPeers, WhatIsSentAgainTakesItsTurn) {
  Config config = paced(kPace);
  config.retransmit_budget_packets = 64;
  Group group(2, config);
  for (PeerId rank = 0; rank < 2; ++rank) group.start(rank, 0, 200 * kPacket);
  base::Nanos now = 0;
  for (int i = 0; i < 100; ++i, now += kPace) group.pull(0, now);  // all lost
  std::vector<Wire> last;
  for (; last.empty(); now += kPace) last = group.pull(0, now);
  group.deliver(last.back(), now);
  for (const Wire& answer : group.pull(1, now)) group.deliver(answer, now);
  for (; group[0].counters().data_retransmitted == 0; now += kPace) {
    ASSERT_LT(now, base::kSecond);
    ASSERT_LE(group.pull(0, now).size(), config.pace_burst_packets + 2u);
    for (const Wire& answer : group.pull(1, now)) group.deliver(answer, now);
  }
  const auto before = group[0].counters().data_retransmitted;
  group.pull(0, now + 10 * kPace);
  EXPECT_LE(group[0].counters().data_retransmitted - before, config.pace_burst_packets + 1u);
}

// One packet in four is lost: somebody else uses the link, or it is slower than was thought.
TEST(FarPeers, SlowsDownWhereMuchIsLost) {
  Config config = paced(kPace);
  config.round_trip = 10 * kMillisecond;
  config.retransmit_budget_packets = 64;
  const auto sent_in = [&](bool yields) {
    config.pace_yields = yields;
    Group group(2, config);
    for (PeerId rank = 0; rank < 2; ++rank) group.start(rank, 0, 4 * kPackets * kPacket);
    LongRoute route;
    route.lost_per_thousand = 250;
    route.run(group, 80 * kMillisecond);
    return group[0].counters().data_sent + group[0].counters().data_retransmitted;
  };
  EXPECT_LT(5 * sent_in(true), 4 * sent_in(false));
}

// Without it the other side is asked again and again before an answer can be there.
TEST(FarPeers, ProbesWaitForTheRoundTrip) {
  const auto probes = [](base::Nanos round_trip) {
    Config config = paced(kPace);
    config.round_trip = round_trip;
    config.timer_jitter = 10 * kMicrosecond;
    Group group(2, config);
    for (PeerId rank = 0; rank < 2; ++rank) group.start(rank, 0, 10 * kPacket);
    EXPECT_LT(LongRoute().run(group, base::kSecond), 30 * kMillisecond);
    return group[0].counters().probes_sent;
  };
  EXPECT_EQ(probes(10 * kMillisecond), 0u);
  EXPECT_GT(probes(0), 0u);
}

// Three exchanges of 40 packets, of which these are lost once: 100 * exchange + packet, from rank
// 0.
struct ThreeExchanges {
  Group group;
  std::array<base::Nanos, 3> took{};

  explicit ThreeExchanges(std::vector<std::uint32_t> lost, bool parities = true)
      : group(2, config(parities)) {
    LongRoute route;
    std::uint32_t exchange = 0;
    route.loses = [&](const Wire& sent) {
      const auto header = sent.header();
      if (sent.from != 0 || header.type != wire::Type::kData) return false;
      const auto at = std::find(lost.begin(), lost.end(), 100 * exchange + header.packet);
      if (at == lost.end()) return false;
      lost.erase(at);
      return true;
    };
    base::Nanos now = 0;
    for (; exchange < took.size(); ++exchange) {
      for (PeerId rank = 0; rank < 2; ++rank) group.start(rank, now, 40 * kPacket);
      const base::Nanos end = route.run(group, now + base::kSecond, now);
      for (PeerId rank = 0; rank < 2; ++rank) {
        group.expect_received(rank, 40 * kPacket);
        group[rank].release(end);
      }
      took.at(exchange) = end - now;
      now = end;
    }
  }
  static Config config(bool parities) {
    Config config = paced(kPace);
    config.round_trip = 10 * kMillisecond;
    config.retransmit_budget_packets = 64;
    config.parities = parities;
    return config;
  }
};

TEST(Parities, NoneIsSentWhereNothingIsLost) {
  ThreeExchanges done({});
  EXPECT_EQ(done.group[0].counters().parities_sent, 0u);
}

TEST(Parities, TellTheLastPacketWithoutARoundTrip) {
  ThreeExchanges with({20, 139, 239}), without({20, 139, 239}, false);
  EXPECT_LT(with.took[1], 7 * kMillisecond);
  EXPECT_LT(with.took[2], 7 * kMillisecond);
  EXPECT_GT(without.took[1], 15 * kMillisecond);
  EXPECT_EQ(with.group[1].counters().data_recovered, 2u);
  EXPECT_EQ(without.group[0].counters().parities_sent, 0u);
}

TEST(Parities, TellSeveralPackets) {
  const ThreeExchanges done({10, 20, 30, 138, 139, 237, 239});
  EXPECT_LT(done.took[1], 7 * kMillisecond);
  EXPECT_LT(done.took[2], 7 * kMillisecond);
}

// More are lost than there are parities: what is lacking is asked for.
TEST(Parities, AreNotWaitedForInVain) {
  std::vector<std::uint32_t> lost{20};
  for (std::uint32_t packet = 120; packet < 140; ++packet) lost.push_back(packet);
  ThreeExchanges done(lost);
  EXPECT_GT(done.group[0].counters().parities_sent, 0u);
  EXPECT_GT(done.took[1], 14 * kMillisecond);
  EXPECT_LT(done.took[1], 30 * kMillisecond);
}

Rounds with_one() {
  Rounds rounds;
  rounds.send = rounds.recv = {1};
  rounds.send_begin = rounds.recv_begin = {0, 1};
  return rounds;
}

// The ranks do not agree on the size of the block: its packets would be told wrong.
TEST(Parities, OfABlockOfAnotherSizeAreRefused) {
  const Rounds rounds = with_one();
  Config config = ThreeExchanges::config(true);
  config.datagram_bytes = kDatagramBytes;
  Engine engine(config, 0, 2);
  engine.start(0, rounds, {3 * kPacket, {}}, {3 * kPacket, {}});
  wire::Header parity;
  parity.type = wire::Type::kParity;
  parity.source = 1;
  parity.acknowledged = 3 * kPacket - 1;
  EXPECT_EQ(engine.on_packet(0, parity, 0, kPacket, {}), Verdict::kNothing);
  EXPECT_EQ(engine.counters().rejected_malformed, 1u);
}

TEST(Parities, OfTheWrongLengthOrNumberAreRefused) {
  const Rounds rounds = with_one();
  Config config = ThreeExchanges::config(true);
  config.datagram_bytes = kDatagramBytes;
  Engine engine(config, 0, 2);
  engine.start(0, rounds, {3 * kPacket, {}}, {3 * kPacket, {}});
  wire::Header parity;
  parity.type = wire::Type::kParity;
  parity.source = 1;
  parity.acknowledged = 3 * kPacket;
  EXPECT_EQ(engine.on_packet(0, parity, 0, kPacket - 1, {}), Verdict::kNothing);
  parity.packet = blocks::kParitiesMax;
  EXPECT_EQ(engine.on_packet(0, parity, 0, kPacket, {}), Verdict::kNothing);
  EXPECT_EQ(engine.counters().rejected_malformed, 2u);
  parity.packet = 0;
  EXPECT_EQ(engine.on_packet(0, parity, 0, kPacket, {}), Verdict::kParity);
  EXPECT_EQ(engine.on_packet(0, parity, 0, kPacket, {}), Verdict::kNothing);
  EXPECT_EQ(engine.counters().duplicates_received, 1u);
}

}  // namespace
}  // namespace alm::transport
