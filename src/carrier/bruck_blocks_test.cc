#include "carrier/bruck_blocks.h"

#include <gtest/gtest.h>

#include <cstring>

namespace alm::carrier {
namespace {

std::byte pattern(std::uint32_t from, std::uint32_t to, std::uint64_t at) {
  return static_cast<std::byte>(from * 31 + to * 7 + at * 3 + 1);
}

// All ranks side by side; messages are copied from one's buffers into another's.
void exchange_everything(const plan::Bruck& bruck, std::uint64_t bytes) {
  const std::uint32_t ranks = bruck.ranks;
  std::vector<BruckBlocks> all;
  for (std::uint32_t self = 0; self < ranks; ++self) {
    all.emplace_back(bruck, self);
    std::vector<std::byte> send(ranks * bytes);
    for (std::uint32_t to = 0; to < ranks; ++to) {
      for (std::uint64_t at = 0; at < bytes; ++at) {
        send[to * bytes + at] = pattern(self, to, at);
      }
    }
    all.back().begin(send.data(), bytes);
  }
  for (std::size_t phase = 0; phase < bruck.phases.size(); ++phase) {
    std::vector<transport::Exchange> exchanges;
    for (auto& blocks : all) exchanges.push_back(blocks.exchange(phase));
    for (std::uint32_t self = 0; self < ranks; ++self) {
      const auto& mine = exchanges[self];
      ASSERT_EQ(mine.rounds->send.size(), mine.rounds->recv.size());
      for (const auto to : mine.rounds->send) {
        const auto& theirs = exchanges[to];
        ASSERT_NE(to, self);
        ASSERT_EQ(mine.send.size[to], theirs.recv.size[self]);
        std::memcpy(theirs.recv.base + theirs.recv.displacement[self],
                    mine.send.base + mine.send.displacement[to], mine.send.size[to]);
      }
    }
    for (auto& blocks : all) blocks.arrived(phase);
  }
  for (std::uint32_t self = 0; self < ranks; ++self) {
    std::vector<std::byte> recv(ranks * bytes);
    all[self].finish(recv.data());
    for (std::uint32_t from = 0; from < ranks; ++from) {
      for (std::uint64_t at = 0; at < bytes; ++at) {
        ASSERT_EQ(recv[from * bytes + at], pattern(from, self, at))
            << ranks << " ranks, from " << from << " to " << self << ", byte " << at;
      }
    }
  }
}

TEST(BruckBlocks, EveryByteArrivesForEveryRadix) {
  for (std::uint32_t ranks = 2; ranks <= 40; ++ranks) {
    for (std::uint32_t radix = 2; radix <= ranks; ++radix) {
      exchange_everything(plan::make_uniform_bruck(ranks, radix), 1 + ranks % 5);
    }
  }
}

TEST(BruckBlocks, EveryByteArrivesBothWays) {
  for (std::uint32_t ranks = 2; ranks <= 72; ++ranks) {
    for (const auto& bruck : plan::make_brucks(ranks)) exchange_everything(bruck, 1 + ranks % 9);
  }
}

// Sizes change from call to call, and nothing old is left over.
TEST(BruckBlocks, OneAfterTheOther) {
  const auto bruck = plan::make_uniform_bruck(3, 2);
  BruckBlocks alone(plan::make_bruck(1, {}, false), 0);
  for (const std::uint64_t bytes : {5u, 1u, 9u}) {
    exchange_everything(bruck, bytes);
    const std::vector<std::byte> send(bytes, std::byte{7});
    std::vector<std::byte> recv(bytes);
    alone.begin(send.data(), bytes);
    EXPECT_EQ(alone.phases(), 0u);
    alone.finish(recv.data());
    EXPECT_EQ(recv, send);
  }
}

}  // namespace
}  // namespace alm::carrier
