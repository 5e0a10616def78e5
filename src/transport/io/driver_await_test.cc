// Several exchanges of one thread at once: start(), make_ready(), await().
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <thread>

#include "transport/io/driver_test_cluster.h"

namespace alm::io {
namespace {

// Each rank sends a block of the second exchange when it has got one of the first from that peer:
// the second has begun on all ranks before the first is complete.
TEST(Driver, TheNextExchangeOfAFamilyBeginsBeforeTheFirstIsComplete) {
  constexpr std::uint32_t kRanks = 4;
  Cluster cluster(kRanks, 2, {}, true, {}, true);
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&cluster, rank] {
      std::array<Side, 2> sides = {Side(cluster, rank, 20'000, 0), Side(cluster, rank, 30'000, 1)};
      for (unsigned i = 0; i < 20; ++i) {
        ASSERT_TRUE(sides[0].start_withheld());
        ASSERT_TRUE(sides[1].start_withheld());
        for (PeerId peer = 0; peer < kRanks; ++peer) sides[0].make_ready(peer, i);
        std::array<std::vector<PeerId>, 2> arrived;
        std::size_t complete = 0;
        while (complete < 2) {
          const auto event = cluster.driver(rank).await(
              std::array{sides[0].set(), sides[1].set()}, [] {}, {},
              monotonic_now() + 60 * base::kSecond);
          ASSERT_TRUE(event) << event.error().message;
          const auto [index, peer] = event.value();
          if (!peer) {
            EXPECT_EQ(arrived[index].size(), kRanks - 1);  // before the completion
            ++complete;
            continue;
          }
          arrived[index].push_back(*peer);
          if (index == 0) sides[1].make_ready(*peer, i);
        }
        EXPECT_TRUE(sides[0].check(i)) << rank;
        EXPECT_TRUE(sides[1].check(i)) << rank;
        for (std::vector<PeerId>& peers : arrived) {
          std::sort(peers.begin(), peers.end());
          EXPECT_EQ(std::adjacent_find(peers.begin(), peers.end()), peers.end());
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Threads that wait while another drives look once when they begin, once when they are woken, and
// every millisecond.
TEST(Driver, WhoWaitsIsNotWokenForTheExchangesOfOthers) {
  constexpr std::size_t kThreads = 8;
  constexpr unsigned kCalls = 200;
  Cluster cluster(2, kThreads);
  const base::Nanos begin = monotonic_now();
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    for (std::size_t s = 0; s < kThreads; ++s) {
      threads.emplace_back([&cluster, rank, s] {
        Side side(cluster, rank, 500, s);
        for (unsigned i = 0; i < kCalls; ++i) {
          ASSERT_TRUE(side.run(i));
          ASSERT_TRUE(side.check(i));
        }
      });
    }
  }
  for (std::thread& thread : threads) thread.join();
  const auto ticks = static_cast<std::uint64_t>((monotonic_now() - begin) / base::kMillisecond);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    const auto counters = cluster.driver(rank).driver_counters();
    EXPECT_EQ(counters.exchanges, kThreads * kCalls);
    EXPECT_LT(counters.waiter_looks, 3 * counters.exchanges + 2 * kThreads * ticks)
        << ticks << " ms";
  }
}

// The responder, or whoever awaits another exchange, carries it out.
TEST(Driver, AStartedExchangeThatNobodyAwaitsGoesOn) {
  Cluster cluster(2);
  Side here(cluster, 0, 50'000), there(cluster, 1, 50'000);
  ASSERT_TRUE(here.start(0));
  EXPECT_TRUE(there.run(0, {}, {}, monotonic_now() + 60 * base::kSecond));
  EXPECT_TRUE(there.check(0));
  const auto event = cluster.driver(0).await(std::array{here.set()}, {}, {});
  ASSERT_TRUE(event);
  EXPECT_FALSE(event.value().arrived);
  EXPECT_TRUE(here.check(0));
}

TEST(Driver, ABlockMadeReadyByAnotherThreadLeaves) {
  Cluster cluster(2);
  Side here(cluster, 0, 5'000), there(cluster, 1, 5'000);
  ASSERT_TRUE(here.start_withheld());
  std::thread supplier([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    here.make_ready(1, 0);
  });
  std::thread peer([&] { EXPECT_TRUE(there.run(0)); });
  std::size_t arrivals = 0;
  while (true) {
    const auto event = cluster.driver(0).await(std::array{here.set()}, [] {}, {});
    ASSERT_TRUE(event);
    if (!event.value().arrived) break;
    ++arrivals;
  }
  EXPECT_EQ(arrivals, 1U);
  supplier.join();
  peer.join();
  EXPECT_TRUE(there.check(0));
}

TEST(Driver, AFailureEndsAllAwaitedExchanges) {
  Cluster cluster(2, 2, {}, true, {}, true);
  Side first(cluster, 0, 1000, 0), second(cluster, 0, 1000, 1);
  ASSERT_TRUE(first.start(0));
  ASSERT_TRUE(second.start(0));
  const std::array sets = {first.set(), second.set()};
  const auto event = cluster.driver(0).await(
      sets, [] {}, {}, monotonic_now() + 50 * base::kMillisecond);
  ASSERT_FALSE(event);
  EXPECT_EQ(event.error().code, base::ErrorCode::kTimeout);
  EXPECT_THAT(event.error().message, testing::StartsWith("the exchange was not complete after 0."));
  for (Side* side : {&first, &second}) {
    const base::Status again = side->start(1);
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().message, event.error().message);
  }
  // What has failed before fails at once, and the rest of the call with it.
  EXPECT_EQ(cluster.driver(0).await(sets, {}, {}).error().message, event.error().message);
}

TEST(Driver, AnAwaitedExchangeFailsWhenAnotherThreadGivesItUp) {
  Cluster cluster(2);
  Side side(cluster, 0, 1000);
  std::thread quitter([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    cluster.driver(0).give_up(std::array{side.set()}, base::io_error("the disk is on fire"), 0);
  });
  const base::Status ended = side.run(
      0, [] {}, {}, monotonic_now() + 60 * base::kSecond);
  quitter.join();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().message, "the disk is on fire");
}

TEST(Driver, WhatDoesNotRunIsNotAwaited) {
  Cluster cluster(2, 2);
  Side side(cluster, 0, 1000);
  const std::uint16_t idle = cluster.set(0, 1);
  EXPECT_EQ(cluster.driver(0).await(std::array{idle}, {}, {}).error().code,
            base::ErrorCode::kBadInput);
  EXPECT_EQ(cluster.driver(0).await(std::array<std::uint16_t, 1>{999}, {}, {}).error().code,
            base::ErrorCode::kBadInput);
  cluster.driver(0).make_ready(999, 1);
  cluster.driver(0).make_ready(idle, 1);
  ASSERT_TRUE(side.start(0));
  EXPECT_EQ(side.start(0).error().code, base::ErrorCode::kBadInput);
  Side other(cluster, 1, 1000);
  std::thread peer([&] { EXPECT_TRUE(other.run(0)); });
  const auto event = cluster.driver(0).await(std::array{idle, side.set()}, {}, {});
  peer.join();
  ASSERT_TRUE(event);
  EXPECT_EQ(event.value().index, 1U);
}
}  // namespace
}  // namespace alm::io
