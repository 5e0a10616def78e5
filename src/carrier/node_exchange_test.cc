#include "carrier/node_exchange.h"

#include <gtest/gtest.h>

#include "carrier/node_group_test.h"

namespace alm::carrier {
namespace {

// The largest block of a few calls, of many, and how many calls; some ranks send nothing.
struct Sizes {
  std::uint64_t few, many, calls;
};

std::string any_sizes(RankOnHost& self, const node::Processes& processes, const Sizes& sizes) {
  for (std::uint64_t call = 0; call < sizes.calls; ++call) {
    const std::uint64_t most = call % 4 == 3 ? 0 : call % 4 == 2 ? sizes.many : sizes.few;
    const auto size = [&](std::uint64_t from, std::uint64_t to) -> std::uint64_t {
      if ((from + to + call) % 3 == 0) return 0;
      return most * ((from * 7 + to * 3 + call) % 11) / 10;
    };
    if (auto wrong = self.any_blocks(size, size, call); !wrong.empty()) return wrong;
    if (call % 5 > 0) continue;
    if (auto wrong = self.equal_blocks(300 * call + 1, call); !wrong.empty()) return wrong;
  }
  self.part(processes);
  return {};
}

class NodeExchangeOf : public ::testing::TestWithParam<std::size_t> {};

TEST_P(NodeExchangeOf, EqualBlocksOfEverySize) {
  node::Processes processes(kPlacements[GetParam()]);
  processes.start([&](std::uint32_t rank) {
    RankOnHost self(processes, rank, kSmall);
    std::uint64_t call = 0;
    for (int repeat = 0; repeat < 3; ++repeat) {
      for (const std::uint64_t bytes : {1, 7, 127, 128, 129, 1000, 5000, 1}) {
        if (auto wrong = self.equal_blocks(bytes, ++call); !wrong.empty()) return wrong;
        if (bytes > 100) continue;
        if (auto wrong = self.equal_blocks(bytes, ++call, true); !wrong.empty()) return wrong;
      }
    }
    self.part(processes);
    return std::string();
  });
  processes.expect_all_well();
}

TEST_P(NodeExchangeOf, BlocksOfAnySizes) {
  node::Processes processes(kPlacements[GetParam()]);
  processes.start([&](std::uint32_t rank) {
    RankOnHost self(processes, rank, kSmall);
    // Some calls need one slab, some many, on some hosts more than on others.
    return any_sizes(self, processes, {.few = 100, .many = 40'000, .calls = 40});
  });
  processes.expect_all_well();
}

INSTANTIATE_TEST_SUITE_P(Placements, NodeExchangeOf,
                         ::testing::Range(std::size_t{0}, kPlacements.size()));

// --- Several leaders per host

const HostNames kTwoEach = {"a", "a", "b", "c", "b", "c", "d", "d"};  // all of them lead
const HostNames kTwoToFour = {"b", "a", "b", "c", "a", "b", "c", "b", "a"};

class SharedExchangeOf : public ::testing::TestWithParam<HostNames> {};

// Slices that are empty, of a packet, and of many; in one slab and in several.
TEST_P(SharedExchangeOf, EqualBlocksOfEverySize) {
  node::Processes processes(GetParam());
  processes.start([&](std::uint32_t rank) {
    RankOnHost self(processes, rank, kSmall, 2);
    std::uint64_t call = 0;
    for (int repeat = 0; repeat < 3; ++repeat) {
      for (const std::uint64_t bytes : {1, 127, 128, 129, 363, 1000, 5000, 1}) {
        self.shares = true;
        if (auto wrong = self.equal_blocks(bytes, ++call); !wrong.empty()) return wrong;
        // Not shared: by the host leader alone, and combined.
        self.shares = false;
        if (auto wrong = self.equal_blocks(bytes, ++call); !wrong.empty()) return wrong;
        if (bytes > 100) continue;
        if (auto wrong = self.equal_blocks(bytes, ++call, true); !wrong.empty()) return wrong;
      }
    }
    self.part(processes);
    return std::string();
  });
  processes.expect_all_well();
}

TEST_P(SharedExchangeOf, BigOnesInOneSlab) {
  node::Processes processes(GetParam());
  processes.start([&](std::uint32_t rank) {
    RankOnHost self(processes, rank, node::kNodeSlabBytes, 2);
    self.shares = true;
    for (std::uint64_t call = 0; call < 3; ++call) {
      if (auto wrong = self.equal_blocks(100'000, call); !wrong.empty()) return wrong;
    }
    self.part(processes);
    return std::string();
  });
  processes.expect_all_well();
}

TEST_P(SharedExchangeOf, EveryLeaderSendsItsPart) {
  node::Processes processes(GetParam());
  processes.start([&](std::uint32_t rank) {
    RankOnHost self(processes, rank, node::kNodeSlabBytes, 2);
    self.shares = true;
    constexpr std::uint64_t kBytes = 30'000;
    if (auto wrong = self.equal_blocks(kBytes, 1); !wrong.empty()) return wrong;
    const auto& placement = self.placement();
    const auto leader = placement.local_rank[rank];
    std::uint64_t wanted = 0;
    // Where all ranks are leaders every block is a message.
    if (placement.all_lead(2)) wanted = 6 * ((kBytes + 1447) / 1448);
    for (std::uint32_t host = 0; !placement.all_lead(2) && leader < 2 && host < placement.hosts();
         ++host) {
      if (host == self.host()) continue;
      const std::uint64_t bytes = kBytes * placement.count(host) * placement.count(self.host());
      const std::uint64_t packet = self.group()->packet_bytes();
      const std::uint64_t packets = (bytes + packet - 1) / packet;
      wanted += leader == 0 ? (packets + 1) / 2 : packets / 2;
    }
    const std::uint64_t sent = leader < 2 ? self.group()->counters().data_sent : 0;
    self.part(processes);
    return sent == wanted ? std::string()
                          : std::to_string(sent) + " packets, not " + std::to_string(wanted);
  });
  processes.expect_all_well();
}

TEST_P(SharedExchangeOf, BlocksOfAnySizes) {
  node::Processes processes(GetParam());
  processes.start([&](std::uint32_t rank) {
    RankOnHost self(processes, rank, kSmall, 2);
    self.shares = true;
    // Enough for two leaders on all hosts, on some, or on none.
    return any_sizes(self, processes, {.few = 5000, .many = 300'000, .calls = 20});
  });
  processes.expect_all_well();
}

INSTANTIATE_TEST_SUITE_P(Placements, SharedExchangeOf, ::testing::Values(kTwoEach, kTwoToFour));

// All ranks end with the same words, in the same call. `each`: of all other blocks.
void expect_disagreement(std::uint64_t from, std::uint64_t to, std::uint64_t sent,
                         std::uint64_t expected, std::uint32_t leaders = 1,
                         std::uint64_t each = 500) {
  node::Processes processes({"a", "a", "b", "b", "b", "c", "c"});
  const std::string wanted = "rank " + std::to_string(from) + " sends " + std::to_string(sent) +
                             " bytes to rank " + std::to_string(to) + ", which expects " +
                             std::to_string(expected) + " bytes";
  processes.start([&](std::uint32_t rank) {
    RankOnHost self(processes, rank, kSmall, leaders);
    self.shares = leaders > 1;
    const auto right = [=](std::uint64_t, std::uint64_t) -> std::uint64_t { return each; };
    if (auto wrong = self.any_blocks(right, right, 0); !wrong.empty()) return wrong;
    const auto found = self.any_blocks(
        [&](auto a, auto b) -> std::uint64_t { return a == from && b == to ? sent : each; },
        [&](auto a, auto b) -> std::uint64_t { return a == from && b == to ? expected : each; }, 1);
    self.part(processes);
    return found == wanted ? std::string() : "found: " + found;
  });
  processes.expect_all_well();
}

TEST(NodeExchange, RanksOfTwoHostsThatDisagree) { expect_disagreement(1, 3, 500, 501); }

TEST(NodeExchange, MoreThanThereIsRoomFor) { expect_disagreement(5, 0, 3'000'000, 0); }

TEST(NodeExchange, NothingWhereMuchIsExpected) { expect_disagreement(0, 5, 0, 2'000'000); }

TEST(NodeExchange, RanksOfOneHostThatDisagree) { expect_disagreement(2, 4, 10, 11); }

TEST(NodeExchange, ARankThatDisagreesWithItself) { expect_disagreement(3, 3, 7, 9); }

TEST(SharedExchange, RanksOfTwoHostsThatDisagree) {
  expect_disagreement(1, 3, 100'000, 100'001, 2, 100'000);
}

TEST(SharedExchange, MoreThanThereIsRoomFor) {
  expect_disagreement(5, 0, 3'000'000, 0, 2, 100'000);
}

TEST(SharedExchange, NothingWhereMuchIsExpected) {
  expect_disagreement(0, 5, 0, 2'000'000, 2, 100'000);
}

// What one leader finds ends the call of the other, wherever that waits.
TEST_P(SharedExchangeOf, HostsThatDisagreeOnABlockEndOnAllRanks) {
  node::Processes processes(GetParam());
  processes.start([&](std::uint32_t rank) {
    RankOnHost self(processes, rank, node::kNodeSlabBytes, 2);
    self.shares = true;
    if (auto wrong = self.equal_blocks(20'000, 0); !wrong.empty()) return wrong;
    // Where there are slices those of the host leaders are as long as expected, the others not.
    const std::uint64_t bytes = self.host() == 1 ? 20'001 : 20'000;
    const auto found = self.equal_blocks(bytes, 1);
    const auto lost = self.exchange().node().lost();
    if (lost && self.group() != nullptr) self.group()->give_up(found, *lost);
    self.part(processes);
    return found.empty() ? std::string("it found nothing wrong") : std::string();
  });
  processes.expect_all_well();
}

// Whom a leader has lost the others of its host learn from the memory, and the leaders of its own
// number from its group.
TEST_P(SharedExchangeOf, ALeaderThatDiesEndsTheCallOfAll) {
  constexpr std::uint32_t kVictim = 4;  // the second leader of a host but the first
  node::Processes processes(GetParam());
  processes.start([&](std::uint32_t rank) {
    RankOnHost self(processes, rank, node::kNodeSlabBytes, 2);
    self.shares = true;
    if (auto wrong = self.equal_blocks(20'000, 0); !wrong.empty()) return wrong;
    if (rank == kVictim) {
      self.part(processes);
      std::_Exit(0);
    }
    processes.bootstrap().meet(4, processes.placement().rank_count());
    const auto found = self.equal_blocks(20'000, 1);
    const auto lost = self.exchange().node().lost();
    if (lost && self.group() != nullptr) self.group()->give_up(found, *lost);
    processes.bootstrap().meet(5, processes.placement().rank_count() - 1);
    return found.find("rank 4 is lost") != std::string::npos ? std::string() : "found: " + found;
  });
  processes.expect_all_well();
}

}  // namespace
}  // namespace alm::carrier
