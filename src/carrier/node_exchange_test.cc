#include "carrier/node_exchange.h"

#include <gtest/gtest.h>

#include "carrier/node_carrier_test.h"

namespace alm::carrier {
namespace {

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
    for (std::uint64_t call = 0; call < 40; ++call) {
      // Some calls need one slab, some many, on some hosts more than on others; some send nothing.
      const std::uint64_t most = call % 4 == 3 ? 0 : call % 4 == 2 ? 40'000 : 100;
      const auto size = [&](std::uint64_t from, std::uint64_t to) -> std::uint64_t {
        if ((from + to + call) % 3 == 0) return 0;
        return most * ((from * 7 + to * 3 + call) % 11) / 10;
      };
      if (auto wrong = self.any_blocks(size, size, call); !wrong.empty()) return wrong;
      if (call % 5 > 0) continue;
      if (auto wrong = self.equal_blocks(300 * call + 1, call); !wrong.empty()) return wrong;
    }
    self.part(processes);
    return std::string();
  });
  processes.expect_all_well();
}

INSTANTIATE_TEST_SUITE_P(Placements, NodeExchangeOf,
                         ::testing::Range(std::size_t{0}, kPlacements.size()));

// All ranks end with the same words, in the same call.
void expect_disagreement(std::uint64_t from, std::uint64_t to, std::uint64_t sent,
                         std::uint64_t expected) {
  node::Processes processes({"a", "a", "b", "b", "b", "c"});
  const std::string wanted = "rank " + std::to_string(from) + " sends " + std::to_string(sent) +
                             " bytes to rank " + std::to_string(to) + ", which expects " +
                             std::to_string(expected) + " bytes";
  processes.start([&](std::uint32_t rank) {
    RankOnHost self(processes, rank, kSmall);
    const auto right = [](std::uint64_t, std::uint64_t) -> std::uint64_t { return 500; };
    if (auto wrong = self.any_blocks(right, right, 0); !wrong.empty()) return wrong;
    const auto found = self.any_blocks(
        [&](auto a, auto b) -> std::uint64_t { return a == from && b == to ? sent : 500; },
        [&](auto a, auto b) -> std::uint64_t { return a == from && b == to ? expected : 500; }, 1);
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

}  // namespace
}  // namespace alm::carrier
