#include "transport/io/driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <map>
#include <random>
#include <thread>
#include <utility>

#include "transport/io/set_table.h"

namespace alm::io {
namespace {

using transport::Exchange;
using transport::PeerId;

std::unique_ptr<Endpoint> open_endpoint(bool gso = true) {
  EndpointOptions options;
  options.local_address = "127.0.0.1";
  options.mtu_bytes = 1500;
  options.grain_packets = 4;
  options.allow_gso = gso;
  auto endpoint = Endpoint::open(options);
  EXPECT_TRUE(endpoint.ok()) << endpoint.error().message;
  return std::move(endpoint).value();
}

// `ranks` drivers in this process, each with `sets` communicators of all of them.
class Cluster {
 public:
  explicit Cluster(std::uint32_t ranks, std::size_t sets = 1, const transport::Config& config = {},
                   bool responder = true,
                   const std::map<std::size_t, transport::Config>& of_set = {},
                   bool family = false) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      drivers_.push_back(Driver::create(open_endpoint(rank % 2 == 0), responder).value());
    }
    for (std::size_t s = 0; s < sets; ++s) {
      std::vector<std::uint16_t> numbers;
      for (auto& driver : drivers_) {
        if (numbers.size() % 2 == 1) driver->reserve_set();  // numbers differ between ranks
        numbers.push_back(driver->reserve_set());
      }
      for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        PeerSet peers;
        peers.identity = {{0x1234 + s, 0x5678}, rank, numbers[rank], numbers};
        peers.config = of_set.contains(s) ? of_set.at(s) : config;
        peers.config.grain_packets = 4;
        if (family) peers.family = s == 0 ? numbers[rank] : numbers_[0][rank];
        for (std::uint32_t peer = 0; peer < ranks; ++peer) {
          peers.addresses.push_back({drivers_[peer]->endpoint().local()});
          peers.names.push_back("rank " + std::to_string(peer) + " on h0" + std::to_string(peer));
        }
        drivers_[rank]->add_set(numbers[rank], std::move(peers));
      }
      numbers_.push_back(std::move(numbers));
    }
  }

  Driver& driver(std::uint32_t rank) { return *drivers_[rank]; }
  std::uint16_t set(std::uint32_t rank, std::size_t s = 0) const { return numbers_[s][rank]; }
  std::uint32_t ranks() const { return static_cast<std::uint32_t>(drivers_.size()); }
  void destroy(std::uint32_t rank) { drivers_[rank].reset(); }

 private:
  std::vector<std::unique_ptr<Driver>> drivers_;
  std::vector<std::vector<std::uint16_t>> numbers_;
};

// One rank's side of a uniform exchange in one round; fills and checks the bytes.
class Side {
 public:
  Side(Cluster& cluster, std::uint32_t rank, std::uint64_t bytes, std::size_t s = 0)
      : cluster_(cluster), rank_(rank), bytes_(bytes), set_index_(s) {
    for (PeerId i = 1; i < cluster.ranks(); ++i) {
      rounds_.send.push_back((rank + i) % cluster.ranks());
      rounds_.recv.push_back((rank + cluster.ranks() - i) % cluster.ranks());
    }
    rounds_.send_begin = rounds_.recv_begin = {0, static_cast<std::uint32_t>(rounds_.send.size())};
    out_.resize(bytes * cluster.ranks());
    in_.resize(bytes * cluster.ranks());
  }

  base::Status run(unsigned iteration, const Driver::Progress& progress = {},
                   const Driver::Warn& warn = {}, base::Nanos deadline = base::kNever) {
    return cluster_.driver(rank_).run(set(), fill_all(iteration), progress, warn, deadline);
  }

  base::Status start(unsigned iteration) {
    return cluster_.driver(rank_).start(set(), fill_all(iteration));
  }
  // All blocks follow; arrivals are reported.
  base::Status start_withheld() {
    const std::vector<std::uint8_t> withheld(cluster_.ranks(), 1);
    std::fill(out_.begin(), out_.end(), std::byte{0x77});
    Exchange exchange = blocks();
    exchange.withheld = withheld;
    exchange.reports_arrivals = true;
    return cluster_.driver(rank_).start(set(), exchange);
  }
  void make_ready(PeerId peer, unsigned iteration) {
    fill(out_.data() + peer * bytes_, rank_, peer, iteration);
    cluster_.driver(rank_).make_ready(set(), peer);
  }
  std::uint16_t set() const { return cluster_.set(rank_, set_index_); }

  bool check(unsigned iteration) const {
    std::vector<std::byte> expected(bytes_);
    for (PeerId peer = 0; peer < cluster_.ranks(); ++peer) {
      if (peer == rank_) continue;
      fill(expected.data(), peer, rank_, iteration);
      if (!std::equal(expected.begin(), expected.end(),
                      in_.begin() + static_cast<std::ptrdiff_t>(peer * bytes_))) {
        return false;
      }
    }
    return true;
  }

 private:
  Exchange blocks() {
    std::fill(in_.begin(), in_.end(), std::byte{0xEE});
    Exchange exchange;
    exchange.rounds = &rounds_;
    exchange.send = {out_.data(), bytes_, bytes_, {}, {}};
    exchange.recv = {in_.data(), bytes_, bytes_, {}, {}};
    return exchange;
  }
  Exchange fill_all(unsigned iteration) {
    for (PeerId peer = 0; peer < cluster_.ranks(); ++peer)
      fill(out_.data() + peer * bytes_, rank_, peer, iteration);
    return blocks();
  }
  void fill(std::byte* at, PeerId from, PeerId to, unsigned iteration) const {
    std::uint32_t value =
        from * 7919 + to * 104'729 + iteration * 1'299'709 + static_cast<std::uint32_t>(set_index_);
    for (std::uint64_t i = 0; i < bytes_; ++i) {
      value = value * 1'664'525 + 1'013'904'223;
      at[i] = static_cast<std::byte>(value >> 24);
    }
  }

  Cluster& cluster_;
  std::uint32_t rank_;
  std::uint64_t bytes_;
  std::size_t set_index_;
  transport::Rounds rounds_;
  std::vector<std::byte> out_, in_;
};

void run_all(Cluster& cluster, std::uint64_t bytes, unsigned iterations, std::size_t sets = 1) {
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < cluster.ranks(); ++rank) {
    for (std::size_t s = 0; s < sets; ++s) {
      threads.emplace_back([&cluster, rank, bytes, iterations, s] {
        Side side(cluster, rank, bytes, s);
        for (unsigned i = 0; i < iterations; ++i) {
          const base::Status status = side.run(
              i, [] {}, {}, monotonic_now() + 60 * base::kSecond);
          ASSERT_TRUE(status.ok()) << status.error().message;
          ASSERT_TRUE(side.check(i)) << "rank " << rank << " set " << s << " iteration " << i;
        }
      });
    }
  }
  for (auto& thread : threads) thread.join();
}

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
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    Side side(cluster, 1, 50'000);
    ASSERT_TRUE(side.run(0).ok());
    ASSERT_TRUE(side.check(0));
  });
  Side side(cluster, 0, 50'000);
  ASSERT_TRUE(side.run(0, [&] { ++progressed; }).ok());
  EXPECT_TRUE(side.check(0));
  EXPECT_GT(progressed, 5);  // at least every millisecond, on a machine that may be busy
  late.join();
}

// A rank that leaves for a while still answers: its peer gets what it lacks from the responder.
TEST(Driver, SettlesThroughTheRespondersOfAbsentRanks) {
  Cluster cluster(3);
  run_all(cluster, 10'000, 3);
  EXPECT_TRUE(cluster.driver(0).settle(monotonic_now() + 5 * base::kSecond, {}));
  EXPECT_TRUE(cluster.driver(1).settle(monotonic_now() + 5 * base::kSecond, [] {}));
}

TEST(Driver, ResponderTakesOverOnlyWhenAway) {
  Cluster cluster(2);
  run_all(cluster, 100, 10);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_GE(cluster.driver(0).driver_counters().responder_turns, 1U);
  run_all(cluster, 100, 10);
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
      side.run(0, {}, [&](const std::string& text) { warnings.push_back(text); });
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
  const Driver::Warn warn = [&](const std::string&) { ++warnings; };
  std::vector<std::thread> threads;
  std::atomic<bool> others_done = false;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {  // the peer comes when the others are through
      Side side(cluster, rank, 20'000, 0);
      while (rank == 1 && !others_done) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      const auto slow = [&] {
        ++slow_calls;
        std::this_thread::sleep_for(std::chrono::seconds(1));
      };
      EXPECT_TRUE(side.run(0, slow, warn));
      EXPECT_TRUE(side.check(0));
    });
  }
  while (slow_calls == 0) std::this_thread::yield();
  const base::Nanos begin = monotonic_now();
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
  EXPECT_LT(monotonic_now() - begin, 900 * base::kMillisecond);  // nobody waited for the slow call
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
  EXPECT_TRUE(side.run(0, absent, [&](const std::string&) { ++warnings; }));
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
