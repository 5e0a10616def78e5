// Two or three channels and no network at all: each test moves the datagrams by hand.
#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <random>
#include <vector>

#include "transport/channel_test_group.h"

namespace alm::transport {
namespace {

TEST(Channel, ACompleteExchangeSendsEachPacketOnceAndNoAcks) {
  Group group(5);
  for (PeerId rank = 0; rank < 5; ++rank) group.start(rank, 0, 3 * kPacket + 1);
  group.flow(0);
  for (PeerId rank = 0; rank < 5; ++rank) {
    ASSERT_TRUE(group[rank].complete());
    group.expect_received(rank, 3 * kPacket + 1);
    EXPECT_EQ(group[rank].counters().data_sent, 4u * 4u);
    EXPECT_EQ(group[rank].counters().data_retransmitted, 0u);
    EXPECT_EQ(group[rank].counters().acks_sent, 0u);
  }
}

TEST(Channel, TheWindowBoundsWhatGoesOutBeforeAnythingComesBack) {
  for (const std::uint32_t window : {1u, 3u, 7u}) {
    Config config;
    config.window_packets = window;
    Group group(8, config);
    for (PeerId rank = 0; rank < 8; ++rank) group.start(rank, 0, 20 * kPacket);
    EXPECT_EQ(group.pull(0, 0).size(), window);
  }
}

TEST(Channel, WhatALateStarterReceivedIsNeverReleasedAsABurst) {
  Config config;
  config.window_packets = 4;
  Group group(6, config);
  for (PeerId rank = 1; rank < 6; ++rank) group.start(rank, 0, 50 * kPacket);
  for (int i = 0; i < 10; ++i) group.flow(i);  // all that can be sent without rank 0
  group.start(0, 100, 50 * kPacket);
  EXPECT_LE(group.pull(0, 100).size(), 4u);
}

TEST(Channel, NothingMattersUntilMostOfWhatIsToComeCanBeThere) {
  Config config;
  config.window_packets = 100;
  config.packet_time = 120'000;
  config.knows_rate = true;
  Group group(9, config);
  for (PeerId rank = 0; rank < 9; ++rank) group.start(rank, 0, kPacket);
  EXPECT_EQ(group[0].unmoved_until(5), 5);  // it has not sent
  EXPECT_EQ(group.pull(0, 5).size(), 8u);
  EXPECT_EQ(group[0].unmoved_until(5), 5 + 6 * 120'000);
  for (PeerId rank = 1; rank < 8; ++rank) {
    for (const Wire& sent : group.pull(rank, 5)) group.deliver(sent, 5);
  }
  EXPECT_EQ(group[0].unmoved_until(9), 9);  // the last packet may come at any time
}

// Sleeping for the time of a guessed link would be far too long on a fast one.
TEST(Channel, WhatIsToComeDoesNotGatherWhereTheRateIsAGuess) {
  Config config;
  config.window_packets = 100;
  Group group(2, config);
  for (PeerId rank = 0; rank < 2; ++rank) group.start(rank, 0, 9 * kPacket);
  EXPECT_EQ(group.pull(0, 5).size(), 9u);
  EXPECT_EQ(group[0].unmoved_until(5), 5);
}

// Who sends them, and receives nothing, waits for acknowledgements.
TEST(Channel, MoreThanHalfAWindowFromOneWhoOnlySendsDoesNotGather) {
  for (const std::uint32_t packets : {5u, 6u}) {
    Config config;
    config.window_packets = 10;
    config.packet_time = 1000;
    config.knows_rate = true;
    Group group(2, config);
    const std::array<std::uint64_t, 2> none{0, 0}, some{0, packets * kPacket};
    group.start_blocks(0, 0, none, some);
    EXPECT_EQ(group[0].unmoved_until(5) > 5, packets == 5);
  }
}

TEST(Channel, TheNextExchangeAcknowledgesTheOneBefore) {
  Group group(2);
  for (int exchange = 0; exchange < 5; ++exchange) {
    for (PeerId rank = 0; rank < 2; ++rank) group.start(rank, exchange, kPacket);
    group.flow(exchange);
    for (PeerId rank = 0; rank < 2; ++rank) {
      ASSERT_TRUE(group[rank].complete());
      group.expect_received(rank, kPacket);
      group[rank].release(exchange);
    }
  }
  EXPECT_EQ(group[0].counters().acks_sent, 0u);
  EXPECT_FALSE(group[0].settled());
  // Nothing follows: the delayed acks go out, and then it is quiet.
  for (int i = 1; i <= 100; ++i) group.flow(i * 10 * base::kMillisecond);
  EXPECT_TRUE(group[0].settled());
  EXPECT_TRUE(group[1].settled());
  EXPECT_EQ(group[0].counters().acks_sent, 1u);
  EXPECT_EQ(group[0].deadline(), base::kNever);
}

// 0 and 1, 2 and 3 exchange a block, then 0 and 2, 1 and 3.
TEST(Channel, APeerThatIsSentNothingMoreGetsItsAckAtOnce) {
  Group group(4);
  std::array<std::array<std::uint64_t, 4>, 4> sizes;
  for (const PeerId distance : {1u, 2u}) {
    for (PeerId rank = 0; rank < 4; ++rank) {
      sizes[rank].fill(0);
      sizes[rank][rank ^ distance] = kPacket;
      group.start_blocks(rank, 0, sizes[rank], sizes[rank]);
    }
    group.flow(0);
    for (PeerId rank = 0; rank < 4; ++rank) {
      ASSERT_TRUE(group[rank].complete()) << distance;
      group[rank].release(0);
    }
  }
  // In each pair, the rank that sends later acknowledges with its data.
  std::uint64_t acks = 0;
  for (PeerId rank = 0; rank < 4; ++rank) acks += group[rank].counters().acks_sent;
  EXPECT_EQ(acks, 2u);
}

TEST(Channel, ANetworkThatIsTenTimesSlowerIsGivenTenTimesTheTime) {
  for (const int factor : {1, 10}) {
    Config config;
    config.slow_down(factor);
    Group group(2, config);
    for (PeerId rank = 0; rank < 2; ++rank) group.start(rank, 0, kPacket);
    group.flow(0);
    for (PeerId rank = 0; rank < 2; ++rank) group[rank].release(0);
    // 25 ms and a cycle after the exchange its last acknowledgement is due.
    EXPECT_TRUE(group.pull(0, factor * 24 * base::kMillisecond).empty());
    const auto sent = group.pull(0, factor * 26 * base::kMillisecond);
    ASSERT_EQ(sent.size(), 1u);
    EXPECT_EQ(sent.front().header().type, wire::Type::kAck);
  }
}

TEST(Channel, AHoleIsReportedAtOnceAndFilledOnThatEvidence) {
  Config config;
  config.window_packets = 8;
  Group group(2, config);
  group.start(0, 0, 5 * kPacket);
  group.start(1, 0, 5 * kPacket);
  auto sent = group.pull(0, 0);
  ASSERT_EQ(sent.size(), 5u);
  for (std::size_t i = 0; i < sent.size(); ++i) {
    if (i == 1) continue;
    EXPECT_TRUE(group.deliver(sent[i], 0));
  }
  auto back = group.pull(1, 0);
  ASSERT_FALSE(back.empty());
  EXPECT_EQ(back.front().header().type, wire::Type::kAck);
  for (const auto& datagram : back) group.deliver(datagram, 1);
  const auto again = group.pull(0, 1);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again.front().header().packet, 1u);
  EXPECT_EQ(group[0].counters().data_retransmitted, 1u);
  group.deliver(again.front(), 2);
  ASSERT_TRUE(group[1].complete());
  group.expect_received(1, 5 * kPacket);
}

TEST(Channel, ALostTailIsResentAfterAProbeFromTheCopyItKept) {
  Group group(2);
  group.start(0, 0, 2 * kPacket);
  group.start(1, 0, 2 * kPacket);
  const auto lost = group.pull(0, 0);  // never arrives
  for (const auto& datagram : group.pull(1, 0)) group.deliver(datagram, 0);
  ASSERT_TRUE(group[0].complete());
  group[0].release(0);
  group.scribble(0);
  EXPECT_FALSE(group[1].complete());
  for (int i = 1; i <= 100 && !group[1].complete(); ++i) group.flow(i * 5 * base::kMillisecond);
  ASSERT_TRUE(group[1].complete());
  group.expect_received(1, 2 * kPacket);
  EXPECT_EQ(group[0].counters().data_retransmitted, 2u);
}

// The second probe took another path: the answer to the first says nothing of that one.
TEST(Channel, OverSeveralPathsALateAnswerMakesNoPathSilent) {
  Config config;
  config.paths = 2;
  Group group(2, config);
  group.start(0, 0, kPacket);
  group.start(1, 0, kPacket);
  base::Nanos now = 0;
  std::vector<Wire> probes;
  for (; probes.size() < 2 && now < 10 * base::kSecond; now += base::kMillisecond) {
    for (Wire& sent : group.pull(0, now)) {  // the data is lost
      if (sent.header().type == wire::Type::kProbe) probes.push_back(std::move(sent));
    }
  }
  ASSERT_EQ(probes.size(), 2u);
  EXPECT_NE(probes[0].header().path, probes[1].header().path);
  group.deliver(probes[0], now);
  for (const Wire& sent : group.pull(1, now)) {
    if (sent.header().type == wire::Type::kAck) group.deliver(sent, now);
  }
  EXPECT_EQ(group[0].counters().path_silences, 0u);
}

TEST(Channel, SilenceAloneResendsNothing) {
  Group group(2);
  group.start(0, 0, kPacket);
  std::size_t data = 0, probes = 0;
  for (int i = 0; i <= 1000; ++i) {
    for (const auto& sent : group.pull(0, i * 10 * base::kMillisecond)) {
      data += sent.header().type == wire::Type::kData;
      probes += sent.header().type == wire::Type::kProbe;
    }
  }
  EXPECT_EQ(data, 1u);
  EXPECT_GE(probes, 8u);   // keeps asking ...
  EXPECT_LE(probes, 25u);  // ... ever more slowly
}

TEST(Channel, EarlyDataIsHeldUpToABoundAndMadeGoodBeyondIt) {
  Config config;
  config.window_packets = 40;
  config.early_bytes_max = 10 * kPacket;
  Group group(2, config);
  group.start(0, 0, 30 * kPacket);
  for (const auto& sent : group.pull(0, 0)) group.deliver(sent, 0);
  EXPECT_EQ(group[1].counters().early_held, 10u);
  EXPECT_EQ(group[1].counters().early_dropped, 20u);
  group.start(1, 1, 30 * kPacket);
  for (int i = 1; i <= 200 && !group[1].complete(); ++i) group.flow(i * base::kMillisecond);
  ASSERT_TRUE(group[1].complete());
  group.expect_received(1, 30 * kPacket);
  group.expect_received(0, 30 * kPacket);
}

TEST(Channel, DuplicatesAreCountedAndChangeNothing) {
  Group group(3);
  for (PeerId rank = 0; rank < 3; ++rank) group.start(rank, 0, 2 * kPacket);
  for (PeerId rank = 0; rank < 3; ++rank) {
    for (const auto& sent : group.pull(rank, 0)) {
      group.deliver(sent, 0);
      group.deliver(sent, 0);
    }
  }
  group.flow(0);
  for (PeerId rank = 0; rank < 3; ++rank) {
    ASSERT_TRUE(group[rank].complete());
    group.expect_received(rank, 2 * kPacket);
    EXPECT_GE(group[rank].counters().duplicates_received, 4u);
  }
}

TEST(Channel, WhatIsNotOursIsRejectedCountedAndUnanswered) {
  Group group(2);
  group.start(0, 0, kPacket);
  group.start(1, 0, kPacket);
  auto sent = group.pull(0, 0);
  ASSERT_EQ(sent.size(), 1u);
  std::mt19937_64 random(5);
  for (int i = 0; i < 20'000; ++i) {
    std::vector<std::byte> garbage = sent.front().bytes;
    if (random() % 2 == 0) {
      garbage.resize(random() % 200);
      for (auto& byte : garbage) byte = static_cast<std::byte>(random());
    } else {
      garbage[random() % garbage.size()] ^= static_cast<std::byte>(1 + random() % 255);
      if (random() % 2 == 0) garbage.resize(random() % garbage.size());
    }
    ASSERT_FALSE(group[1].on_datagram(0, garbage));
  }
  const Counters& counters = group[1].counters();
  EXPECT_EQ(counters.rejected_checksum + counters.rejected_malformed, 20'000u);
  EXPECT_EQ(counters.data_received, 0u);
  const auto answers = group.pull(1, 0);
  ASSERT_EQ(answers.size(), 1u);  // its own data, nothing else
  EXPECT_EQ(answers.front().header().type, wire::Type::kData);
}

TEST(Channel, ASilentPeerIsAWarningOnceThenAFailure) {
  Config config;
  config.peer_warning = base::kSecond;
  config.peer_timeout = 3 * base::kSecond;
  Group group(3, config);
  group.start(0, 0, kPacket);
  group.start(1, 0, kPacket);
  group.stop(2);
  int warnings = 0;
  std::optional<PeerFailure> fatal;
  for (int i = 1; i <= 60 && !fatal; ++i) {
    const base::Nanos now = i * 100 * base::kMillisecond;
    group.flow(now);
    for (auto failure = group[0].check_peers(now); failure; failure = group[0].check_peers(now)) {
      EXPECT_EQ(failure->peer, 2u);
      if (failure->fatal) {
        fatal = failure;
        break;
      }
      ++warnings;
    }
  }
  EXPECT_EQ(warnings, 1);
  ASSERT_TRUE(fatal);
  EXPECT_GE(fatal->silent, config.peer_timeout);
  group[0].abandon();
  EXPECT_TRUE(group.pull(0, 10 * base::kSecond).empty());
}

TEST(Channel, PeersAreToldOfALoss) {
  constexpr std::uint32_t kLostNumber = 7;
  Group group(2);
  group.start(0, 0, kPacket);
  group[0].abandon(kLostNumber);
  EXPECT_EQ(group.pull(0, 0).size(), 1u);  // gets lost
  group.start(1, 0, kPacket);
  EXPECT_FALSE(group[1].check_peers(0));
  group.flow(0);
  const auto failure = group[1].check_peers(0);
  ASSERT_TRUE(failure);
  EXPECT_TRUE(failure->fatal);
  EXPECT_EQ(failure->peer, 0u);
  EXPECT_EQ(failure->told, kLostNumber);
}

// What two ranks think of the block from rank 0 to rank 1; all other blocks are one packet long.
struct SentAndExpected {
  std::uint64_t sent, expected;
};

class Disagreement : public testing::TestWithParam<SentAndExpected> {
 protected:
  static constexpr PeerId kRanks = 4;

  void enter(PeerId self, base::Nanos now) {
    auto& send = send_sizes_[self];
    auto& recv = recv_sizes_[self];
    send.assign(kRanks, kPacket);
    recv.assign(kRanks, kPacket);
    if (self == 0) send[1] = GetParam().sent;
    if (self == 1) recv[0] = GetParam().expected;
    group_.start_blocks(self, now, send, recv);
  }
  void expect_everybody_knows() {
    for (int i = 1; i <= 2000; ++i) group_.flow(i * base::kMillisecond);
    for (PeerId rank = 0; rank < kRanks; ++rank) {
      const auto& found = group_[rank].mismatch();
      ASSERT_TRUE(found) << rank;
      EXPECT_FALSE(group_[rank].complete());
      EXPECT_EQ(found->from, 0u);
      EXPECT_EQ(found->to, 1u);
      EXPECT_EQ(found->sent, GetParam().sent);
      EXPECT_EQ(found->expected, GetParam().expected);
    }
  }

  Group group_{kRanks};
  std::array<std::vector<std::uint64_t>, kRanks> send_sizes_, recv_sizes_;
};

TEST_P(Disagreement, EndsTheExchangeForAll) {
  for (PeerId rank = 0; rank < kRanks; ++rank) enter(rank, 0);
  expect_everybody_knows();
}

TEST_P(Disagreement, IsFoundInWhatCameEarly) {
  for (PeerId rank = kRanks - 1; rank > 0; --rank) {
    enter(rank == 1 ? 0 : rank, 0);
    group_.flow(0);
  }
  enter(1, 0);
  expect_everybody_knows();
}

TEST_P(Disagreement, IsFoundByTheOneThatSends) {
  enter(1, 0);
  group_.flow(0);
  for (const PeerId rank : {2u, 3u, 0u}) enter(rank, 0);
  expect_everybody_knows();
}

INSTANTIATE_TEST_SUITE_P(Channel, Disagreement,
                         testing::Values(SentAndExpected{3 * kPacket, kPacket},
                                         SentAndExpected{kPacket, 3 * kPacket},
                                         SentAndExpected{2 * kPacket, 2 * kPacket - 1},
                                         SentAndExpected{2 * kPacket - 1, 2 * kPacket},
                                         SentAndExpected{0, 5 * kPacket}, SentAndExpected{0, 1},
                                         SentAndExpected{700 * kPacket, 0}, SentAndExpected{1, 0}));

TEST(Channel, TheOwnBlockMustAgreeToo) {
  Group group(2);
  const std::vector<std::uint64_t> ten = {10, 10};
  const std::vector<std::uint64_t> nine = {9, 10};
  group.start_blocks(0, 0, ten, nine);
  ASSERT_TRUE(group[0].mismatch());
  EXPECT_EQ(group[0].mismatch()->to, 0u);
  group.start_blocks(1, 0, ten, ten);
  group.flow(0);
  EXPECT_TRUE(group[1].mismatch());
}

// Rank 1 expects nothing, leaves, and hears of it afterwards.
TEST(Channel, AnUnexpectedBlockIsFoundAfterTheExchange) {
  Group group(2);
  const std::vector<std::uint64_t> none = {0, 0};
  const std::vector<std::uint64_t> some = {0, 250};
  group.start_blocks(1, 0, none, none);
  ASSERT_TRUE(group[1].complete());
  group[1].release(0);
  group.start_blocks(0, 0, some, none);
  for (int i = 0; i < 300; ++i) group.flow(i * base::kMillisecond);
  for (PeerId rank = 0; rank < 2; ++rank) {
    ASSERT_TRUE(group[rank].mismatch());
    EXPECT_EQ(group[rank].mismatch()->sent, 250u);
    EXPECT_EQ(group[rank].mismatch()->expected, 0u);
  }
}

TEST(Channel, APeerThatHasNotEnteredSaysSo) {
  Group group(2);
  base::Nanos now = base::kSecond;
  group.start(0, now, 3 * kPacket);
  EXPECT_FALSE(group[1].ahead(0));
  for (int step = 0; step < 300; ++step, now += 10 * base::kMillisecond) group.flow(now);
  EXPECT_GE(group[0].not_entered_at(1), base::kSecond);
  EXPECT_TRUE(group[0].absent(1));
  ASSERT_TRUE(group[1].ahead(0));
  EXPECT_EQ(group[1].ahead(0)->since, base::kSecond);
  EXPECT_EQ(group[1].ahead(0)->sends, 3 * kPacket);
  EXPECT_EQ(group[0].sends_to(1), 3 * kPacket);
  group.start(1, now, 3 * kPacket);
  EXPECT_FALSE(group[1].ahead(0));
  group.flow(now);
  EXPECT_FALSE(group[0].absent(1));
  EXPECT_TRUE(group[0].complete());
}

// It may be in later exchanges by rights.
TEST(Channel, APeerThatHasLeftIsNotOneThatHasNotEntered) {
  Group group(3);
  base::Nanos now = base::kSecond;
  const std::vector<std::uint64_t> all = {0, kPacket, kPacket};
  const std::vector<std::uint64_t> only_first = {kPacket, 0, 0};
  group.start_blocks(0, now, all, all);
  group.start_blocks(1, now, only_first, only_first);
  group.flow(now);
  ASSERT_TRUE(group[1].complete());
  group[1].release(now);
  for (int step = 0; step < 300; ++step, now += 10 * base::kMillisecond) group.flow(now);
  EXPECT_EQ(group[0].not_entered_at(1), 0);
  EXPECT_GT(group[0].not_entered_at(2), 0);
}

TEST(Channel, ALatePeerThatAnswersProbesIsNotSilent) {
  Config config;
  config.peer_warning = base::kSecond;
  config.peer_timeout = 3 * base::kSecond;
  Group group(2, config);
  group.start(0, 0, kPacket);
  for (int i = 1; i <= 1000; ++i) {
    const base::Nanos now = i * 100 * base::kMillisecond;
    group.flow(now);  // rank 1 has not entered, but its responder is driven
    ASSERT_FALSE(group[0].check_peers(now));
  }
  group.start(1, 101 * base::kSecond, kPacket);
  for (int i = 0; i < 100; ++i) group.flow(101 * base::kSecond + i * 10 * base::kMillisecond);
  EXPECT_TRUE(group[0].complete());
  EXPECT_TRUE(group[1].complete());
}

TEST(Channel, ExchangeNumbersPassTheirSixteenBits) {
  Group group(2);
  for (int exchange = 0; exchange < 140'000; ++exchange) {
    for (PeerId rank = 0; rank < 2; ++rank) group.start(rank, exchange, 1);
    group.flow(exchange);
    for (PeerId rank = 0; rank < 2; ++rank) {
      ASSERT_TRUE(group[rank].complete()) << exchange;
      group[rank].release(exchange);
    }
  }
}

}  // namespace
}  // namespace alm::transport
