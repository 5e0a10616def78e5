#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <random>
#include <thread>
#include <utility>

#include "transport/io/driver_test_cluster.h"
#include "transport/io/set_table.h"

namespace alm::io {
namespace {

TEST(Driver, ThousandsOfSmallExchanges) {
  Cluster cluster(2);
  run_all(cluster, 100, 3000);
  EXPECT_EQ(cluster.driver(0).driver_counters().exchanges, 3000U);
  EXPECT_EQ(cluster.driver(0).driver_counters().unknown_set, 0U);
}

TEST(Driver, LargeExchangeOfSeveralRanks) {
  Cluster cluster(5);
  run_all(cluster, 300'000, 4);
  for (std::uint32_t rank = 0; rank < 5; ++rank) {
    EXPECT_EQ(cluster.driver(rank).endpoint_counters().receive_overflow, 0U);
  }
}

// Nine paths need three sockets on each side. Every one carries data.
TEST(Driver, SeveralPaths) {
  transport::Config config;
  config.paths = 9;
  config.path_rule = paths::PathRule::kRotate;
  Cluster cluster(3, 1, config);
  EXPECT_EQ(cluster.driver(0).endpoint().paths(), 3U);
  run_all(cluster, 300'000, 4);
  run_all(cluster, 3'000, 20);
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    const transport::Counters counters = cluster.driver(rank).counters(cluster.set(rank));
    std::uint64_t sum = 0;
    for (std::uint32_t path = 0; path < 9; ++path) {
      EXPECT_GT(counters.path_loads[path], 0U);
      sum += counters.path_loads[path];
    }
    EXPECT_EQ(sum, counters.data_sent + counters.data_retransmitted);
  }
}

TEST(Driver, EmptyBlocks) {
  Cluster cluster(3);
  run_all(cluster, 0, 50);
}

TEST(Driver, TwoSetsFromTwoThreads) {
  Cluster cluster(2, 2);
  run_all(cluster, 5'000, 500, 2);
}

TEST(Driver, ThreeSetsThreeRanksWithoutResponder) {
  Cluster cluster(3, 3, {}, false);
  run_all(cluster, 20'000, 50, 3);
}

TEST(Driver, LatePeerIsWaitedFor) {
  Cluster cluster(2);
  std::atomic<int> progressed = 0;
  std::thread late([&] {
    // Comes when the other has been told often enough that it waits, however busy the machine is.
    for (int ms = 0; ms < 20'000 && (ms < 200 || progressed <= 5); ++ms) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    Side side(cluster, 1, 50'000);
    ASSERT_TRUE(side.run(0).ok());
    ASSERT_TRUE(side.check(0));
  });
  Side side(cluster, 0, 50'000);
  ASSERT_TRUE(side.run(0, [&] { ++progressed; }).ok());
  EXPECT_TRUE(side.check(0));
  EXPECT_GT(progressed, 5);
  late.join();
}

// A rank that leaves for a while still answers: its peer gets what it lacks from the responder.
TEST(Driver, SettlesThroughTheRespondersOfAbsentRanks) {
  Cluster cluster(3);
  run_all(cluster, 10'000, 3);
  EXPECT_TRUE(cluster.driver(0).settle(monotonic_now() + 5 * base::kSecond, {}));
  EXPECT_TRUE(cluster.driver(1).settle(monotonic_now() + 5 * base::kSecond, [] {}));
}

TEST(Driver, PacketsThatCarryNothingComeWithoutAnExchange) {
  Cluster cluster(3);
  const base::Nanos begin = monotonic_now();
  constexpr base::Nanos kTime = 50 * base::kMillisecond;
  cluster.driver(0).fill(cluster.set(0), 20, 1000, kTime, {});
  EXPECT_GE(monotonic_now() - begin, kTime);
  EXPECT_EQ(cluster.driver(0).counters(cluster.set(0)).fills.sent, 40u);
  run_all(cluster, 5'000, 3);  // they are read in the next exchange at the latest
  std::uint64_t received = 0;
  for (const std::uint32_t rank : {1U, 2U}) {
    received += cluster.driver(rank).counters(cluster.set(rank)).fills.received;
  }
  EXPECT_EQ(received, 40u);
}

TEST(Driver, ResponderTakesOverOnlyWhenAway) {
  Cluster cluster(2);
  run_all(cluster, 100, 10);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_GE(cluster.driver(0).driver_counters().responder_turns, 1U);
  run_all(cluster, 100, 10);
}

// On a network so slow a rank may be away for 0.8 s before its responder takes over.
TEST(Driver, AfterALongCallTheResponderAnswersSoon) {
  Cluster cluster(2, 1, {}, true, {}, false, 100);
  std::thread late([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
    ASSERT_TRUE(Side(cluster, 1, 5000).run(0).ok());
  });
  ASSERT_TRUE(Side(cluster, 0, 5000).run(0).ok());
  late.join();
  // Rank 1 lacks the acknowledgements of its packets.
  EXPECT_TRUE(cluster.driver(1).settle(monotonic_now() + 400 * base::kMillisecond, {}));
}

TEST(Driver, SilentPeerIsNamedThenLost) {
  transport::Config config;
  config.peer_warning = 200 * base::kMillisecond;
  config.peer_timeout = 1500 * base::kMillisecond;
  Cluster cluster(2, 1, config);
  cluster.destroy(1);
  // Its address must not be looked up again: only rank 0 is used from here on.
  std::vector<std::string> warnings;
  Side side(cluster, 0, 1000);
  const base::Status status =
      side.run(0, {}, {[&](const std::string& text) { warnings.push_back(text); }});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, base::ErrorCode::kPeerLost);
  EXPECT_THAT(status.error().message, testing::HasSubstr("rank 1 on h01"));
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_THAT(warnings[0], testing::HasSubstr("rank 1 on h01 silent for 0."));
  EXPECT_THAT(warnings[0], testing::HasSubstr("ALLEMANDE_PEER_TIMEOUT_S"));
  EXPECT_FALSE(side.run(1).ok());  // stays lost
}

// Rank 0 loses rank 2 on one set; rank 1 waits for rank 0 on the other.
TEST(Driver, ASharedFailureReachesThoseWhoWaitElsewhere) {
  transport::Config patient;
  patient.peer_timeout = 100 * base::kSecond;
  transport::Config hasty;
  hasty.peer_timeout = 500 * base::kMillisecond;
  Cluster cluster(3, 2, patient, true, {{0, hasty}});
  cluster.destroy(2);
  base::Status waited;
  std::thread waiting([&] { waited = Side(cluster, 1, 1000, 1).run(0); });
  EXPECT_FALSE(Side(cluster, 0, 1000, 0).run(0).ok());
  const std::array<std::uint16_t, 2> sets = {cluster.set(0, 0), cluster.set(0, 1)};
  cluster.driver(0).share_failure(sets);
  waiting.join();
  ASSERT_FALSE(waited.ok());
  EXPECT_THAT(waited.error().message,
              testing::HasSubstr("rank 2 on h02 is lost, as rank 0 on h00 has found"));
}

// All wait for each other, each alive and answering.
TEST(Driver, RanksThatTakeSetsOfAFamilyInDifferentOrderFail) {
  Cluster cluster(3, 2, {}, true, {}, true);
  std::vector<std::thread> threads;
  std::vector<base::Status> ended(3);
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&cluster, &ended, rank] {
      const std::size_t first = rank == 2 ? 1 : 0;
      Side side(cluster, rank, rank == 2 ? 700 : 900, first);
      ended[rank] = side.run(0, {}, {}, monotonic_now() + 20 * base::kSecond);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    ASSERT_FALSE(ended[rank]) << rank;
    EXPECT_NE(ended[rank].error().code, base::ErrorCode::kTimeout) << rank;
  }
  EXPECT_EQ(ended[2].error().code, base::ErrorCode::kBadInput);
  EXPECT_THAT(ended[2].error().message,
              testing::MatchesRegex("rank [01] on h0[01] sends 900 bytes and takes another way "
                                    "than rank 2 on h02, which sends it 700 bytes: .*"));
}

// One is seconds behind, which is no other order: those ahead are in the next set already.
TEST(Driver, ALateRankOfAFamilyIsWaitedFor) {
  Cluster cluster(3, 2, {}, true, {}, true);
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&cluster, rank] {
      std::array<Side, 2> sides = {Side(cluster, rank, 900, 0), Side(cluster, rank, 700, 1)};
      for (unsigned i = 0; i < 4; ++i) {
        if (rank == i) std::this_thread::sleep_for(std::chrono::milliseconds(1500));
        const base::Status done = sides[i % 2].run(i);
        EXPECT_TRUE(done) << done.error().message;
        EXPECT_TRUE(sides[i % 2].check(i));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// It is in a call of the same number, by other means: it does not come. In the call before it was
// merely late.
TEST(Driver, ARankThatIsElsewhereIsNotWaitedFor) {
  Cluster cluster(2, 1, {}, true, {}, true);
  const auto begin = [&](std::uint32_t rank, std::uint64_t call,
                         std::optional<std::uint64_t> elsewhere) {
    cluster.driver(rank).begin(std::array{cluster.set(rank)}, call, elsewhere);
  };
  begin(0, 7, 40);
  std::thread late([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    begin(0, 8, std::nullopt);
    Side side(cluster, 0, 900);
    const base::Status done = side.run(0);
    EXPECT_TRUE(done) << done.error().message;
    begin(0, 9, 40);
  });
  begin(1, 8, std::nullopt);
  Side side(cluster, 1, 900);
  const base::Status done = side.run(0);
  EXPECT_TRUE(done) << done.error().message;
  late.join();

  begin(1, 9, std::nullopt);
  const base::Status disorder = side.run(1, {}, {}, monotonic_now() + 60 * base::kSecond);
  ASSERT_FALSE(disorder);
  EXPECT_EQ(disorder.error().code, base::ErrorCode::kBadInput);
  EXPECT_THAT(disorder.error().message,
              testing::StartsWith("rank 0 on h00 sends 40 bytes and takes another way than rank 1 "
                                  "on h01, which sends it 900 bytes: "));
}

// With nothing to send it has gone on, to its end.
TEST(Driver, ARankThatIsElsewhereInALaterCallIsNotWaitedFor) {
  Cluster cluster(2, 1, {}, true, {}, true);
  for (std::uint64_t call = 1; call <= 5; ++call) {
    cluster.driver(0).begin(std::array{cluster.set(0)}, call, 0);
  }
  cluster.driver(1).begin(std::array{cluster.set(1)}, 2, std::nullopt);
  Side side(cluster, 1, 900);
  const base::Status disorder = side.run(0, {}, {}, monotonic_now() + 60 * base::kSecond);
  ASSERT_FALSE(disorder);
  EXPECT_THAT(disorder.error().message,
              testing::StartsWith("rank 0 on h00 takes another way than rank 1 on h01, which sends "
                                  "it 900 bytes: "));
}

TEST(Driver, DeadlineEndsTheExchange) {
  Cluster cluster(2);
  Side side(cluster, 0, 1000);
  const base::Status status = side.run(
      0, [] {}, {}, monotonic_now() + 50 * base::kMillisecond);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, base::ErrorCode::kTimeout);
}

// The caller falls back to other means; its signals are as they were.
TEST(Driver, WithoutAThreadForTheResponderNoDriverIsMade) {
  pthread_attr_t usual, impossible;
  ASSERT_EQ(::pthread_getattr_default_np(&usual), 0);
  ASSERT_EQ(::pthread_getattr_default_np(&impossible), 0);
  ASSERT_EQ(::pthread_attr_setstacksize(&impossible, std::size_t{1} << 46), 0);
  sigset_t before, after;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &before);
  auto endpoint = open_endpoint();
  ASSERT_EQ(::pthread_setattr_default_np(&impossible), 0);
  const auto driver = Driver::create(std::move(endpoint));
  ASSERT_EQ(::pthread_setattr_default_np(&usual), 0);
  ::pthread_sigmask(SIG_SETMASK, nullptr, &after);
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error().code, base::ErrorCode::kIo);
  EXPECT_THAT(driver.error().message, testing::HasSubstr("thread"));
  for (int signal = 1; signal < NSIG; ++signal) {
    EXPECT_EQ(::sigismember(&before, signal), ::sigismember(&after, signal)) << signal;
  }
}

// PMPI_Test may yield to whoever spins, or take long for other reasons.
TEST(Driver, AThreadWhoseProgressTakesLongHoldsNobodyUp) {
  transport::Config config;
  config.peer_warning = 300 * base::kMillisecond;
  Cluster cluster(2, 3, config, false);
  std::atomic<int> slow_calls = 0, warnings = 0;
  const Driver::Warn warn{[&](const std::string& text) {
    if (text.find("silent") != std::string::npos) ++warnings;
  }};
  std::vector<std::thread> threads;
  std::atomic<bool> others_done = false, held_up = false;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {  // the peer comes when the others are through
      Side side(cluster, rank, 20'000, 0);
      while (rank == 1 && !others_done) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      // Longer than peers are patient, and until the others are through.
      const auto slow = [&] {
        ++slow_calls;
        std::this_thread::sleep_for(std::chrono::seconds(1));
        const base::Nanos limit = monotonic_now() + 20 * base::kSecond;
        while (!others_done && !held_up) {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
          held_up = held_up || monotonic_now() > limit;
        }
      };
      EXPECT_TRUE(side.run(0, slow, warn));
      EXPECT_TRUE(side.check(0));
    });
  }
  while (slow_calls == 0) std::this_thread::yield();
  std::vector<std::thread> quick;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    for (std::size_t s = 1; s < 3; ++s) {
      quick.emplace_back([&, rank, s] {
        Side side(cluster, rank, 20'000, s);
        for (unsigned i = 0; i < 5; ++i) {
          EXPECT_TRUE(side.run(
              i, [] {}, warn));
          EXPECT_TRUE(side.check(i));
        }
      });
    }
  }
  for (std::thread& thread : quick) thread.join();
  EXPECT_FALSE(held_up);  // nobody waited for the slow call
  others_done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(warnings, 0);
}

// Peers that were late are not silent for the time in which nobody looked.
TEST(Driver, WhatNobodyListenedToWasNotSilence) {
  transport::Config config;
  config.peer_warning = 300 * base::kMillisecond;
  Cluster cluster(2, 1, config, false);
  std::atomic<int> warnings = 0;
  std::thread late([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(1100));
    Side side(cluster, 1, 1000);
    EXPECT_TRUE(side.run(0));
  });
  Side side(cluster, 0, 1000);
  bool first = true;
  const auto absent = [&] {
    if (std::exchange(first, false)) std::this_thread::sleep_for(std::chrono::seconds(1));
  };
  EXPECT_TRUE(side.run(0, absent, {[&](const std::string&) { ++warnings; }}));
  late.join();
  EXPECT_EQ(warnings, 0);
}

TEST(Driver, UnknownAndBusySetsAreRefused) {
  Cluster cluster(2);
  Exchange exchange;
  EXPECT_EQ(cluster.driver(0).run(999, exchange, {}, {}).error().code, base::ErrorCode::kBadInput);
}

TEST(Driver, RemovedSetsAreForgottenInTurn) {
  constexpr std::size_t kSets = SetTable::kRetiredMax + 10;
  Cluster cluster(2, kSets);
  run_all(cluster, 100, 2, kSets);
  for (std::size_t s = 0; s < kSets; ++s) {
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      cluster.driver(rank).remove_set(cluster.set(rank, s));
      cluster.driver(rank).remove_set(cluster.set(rank, s));  // twice does no harm
    }
  }
  EXPECT_EQ(cluster.driver(0).counters(cluster.set(0, 0)).data_sent, 0U);          // gone
  EXPECT_GT(cluster.driver(0).counters(cluster.set(0, kSets - 1)).data_sent, 0U);  // still answers
}

// Random bytes, truncations of real headers and well-formed headers with a wrong key: counted,
// unanswered.
TEST(Driver, GarbageIsCountedAndUnanswered) {
  Cluster cluster(2);
  auto stranger = open_endpoint();
  std::atomic<bool> stop = false;
  std::atomic<std::uint64_t> thrown = 0, replies = 0;
  std::thread noise([&] {
    std::minstd_rand random(7);
    const Address to = cluster.driver(0).endpoint().local();
    const std::uint16_t set = cluster.set(0);
    std::vector<std::byte> bytes(1472);
    while (!stop) {
      for (auto& b : bytes) b = static_cast<std::byte>(random());
      std::size_t length = random() % bytes.size();
      if (random() % 2 == 0) {  // looks right up to the checksum
        bytes[0] = static_cast<std::byte>((wire::kVersion << 4) | (random() % 3));
        bytes[1] = std::byte{0};
        std::memcpy(&bytes[2], &set, sizeof set);
        bytes[4] = std::byte{1};
        bytes[5] = std::byte{0};
        length = 24 + random() % 1000;
      }
      const SendItem item{&to, 0, std::span(bytes).first(length), {}};
      thrown += stranger->send(monotonic_now(), {&item, 1});
      replies += stranger->receive([](const Address&, std::span<const std::byte>) {});
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  });
  run_all(cluster, 3'000, 1500);
  while (thrown < 200) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  stop = true;
  noise.join();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  replies += stranger->receive([](const Address&, std::span<const std::byte>) {});
  EXPECT_EQ(replies, 0U);
  const auto counters = cluster.driver(0).counters(cluster.set(0));
  EXPECT_GT(cluster.driver(0).driver_counters().unknown_set, 0U);
  EXPECT_GT(counters.rejected_checksum + counters.rejected_malformed, 0U);
}

TEST(Driver, InertInAForkedChild) {
  Cluster cluster(2);
  run_all(cluster, 1000, 5);
  const pid_t child = ::fork();
  if (child == 0) {
    Side side(cluster, 0, 1000);
    const bool refused = !side.run(5).ok() && !cluster.driver(0).settle(base::kNever, {}) &&
                         cluster.driver(0).reserve_set() == 0;
    cluster.driver(0).remove_set(cluster.set(0));
    cluster.destroy(0);  // touches nothing, joins nothing
    ::_exit(refused ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  Cluster* parent = &cluster;
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    threads.emplace_back([parent, rank] {
      Side side(*parent, rank, 1000);
      for (unsigned i = 5; i < 20; ++i) {
        ASSERT_TRUE(side.run(i).ok());
        ASSERT_TRUE(side.check(i));
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST(Driver, DestroyedCleanlyWhileIdleAndAway) {
  for (int i = 0; i < 20; ++i) {
    Cluster cluster(2);
    if (i % 2 == 0) run_all(cluster, 100, 3);
    if (i % 4 < 2) std::this_thread::sleep_for(std::chrono::milliseconds(12));
  }
}

}  // namespace
}  // namespace alm::io
