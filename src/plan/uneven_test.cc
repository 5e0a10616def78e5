#include "plan/uneven.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <string>

namespace alm::plan {
namespace {

constexpr std::uint32_t kPacket = 1000;

using Bytes = std::vector<std::uint64_t>;

std::vector<Uneven> make_all(const Bytes& bytes, std::uint32_t ranks, std::uint32_t grain = 1,
                             std::uint64_t link_steps = 0) {
  std::vector<Uneven> all;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    all.push_back(make_uneven({.ranks = ranks,
                               .self = {rank},
                               .bytes = bytes,
                               .packet_bytes = kPacket,
                               .grain_packets = grain,
                               .link_steps = link_steps}));
  }
  return all;
}

std::uint64_t packets(const std::vector<Train>& trains, std::uint32_t peer) {
  std::uint64_t sum = 0;
  for (const Train& train : trains) sum += train.peer == peer ? train.packets : 0;
  return sum;
}

std::uint64_t fullest(const Bytes& bytes, std::uint32_t ranks) {
  std::uint64_t most = 0;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    std::uint64_t out = 0, in = 0;
    for (std::uint32_t peer = 0; peer < ranks; ++peer) {
      if (peer == rank) continue;
      out += (bytes[rank * ranks + peer] + kPacket - 1) / kPacket;
      in += (bytes[peer * ranks + rank] + kPacket - 1) / kPacket;
    }
    most = std::max({most, out, in});
  }
  return most;
}

// The most packets beyond one per step that a receiver is ever sent, if all keep to the steps.
std::uint64_t worst_queue(const std::vector<Uneven>& all, std::uint32_t to) {
  std::map<std::uint64_t, std::uint64_t> at;
  for (const Uneven& one : all) {
    for (const Train& train : one.send) {
      if (train.peer != to) continue;
      for (std::uint32_t i = 0; i < train.packets; ++i) ++at[train.step + i];
    }
  }
  std::uint64_t queue = 0, worst = 0, last = 0;
  for (const auto& [step, count] : at) {
    queue -= std::min(queue, step - last);
    queue += count;
    last = step;
    worst = std::max(worst, queue);
  }
  return worst;
}

Bytes random_bytes(std::uint32_t ranks, std::uint64_t most, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<std::uint64_t> amount(0, most);
  Bytes bytes(std::size_t{ranks} * ranks);
  for (auto& one : bytes) one = amount(random);
  return bytes;
}

Bytes hot(std::uint32_t ranks, std::uint64_t mean, std::uint64_t factor) {
  Bytes bytes(std::size_t{ranks} * ranks, mean);
  for (std::uint32_t from = 0; from < ranks; ++from) bytes[from * ranks + 1] *= factor;
  return bytes;
}

void expect_good(const Bytes& bytes, std::uint32_t ranks, std::uint32_t grain) {
  const auto all = make_all(bytes, ranks, grain);
  const auto least = fullest(bytes, ranks);
  for (std::uint32_t from = 0; from < ranks; ++from) {
    EXPECT_EQ(all[from].steps, all[0].steps);
    for (std::uint32_t to = 0; to < ranks; ++to) {
      if (to == from) continue;
      const auto needed = (bytes[from * ranks + to] + kPacket - 1) / kPacket;
      EXPECT_EQ(packets(all[from].send, to), needed) << from << " to " << to;
      EXPECT_EQ(packets(all[to].recv, from), needed) << from << " to " << to;
    }
    EXPECT_TRUE(std::is_sorted(all[from].send.begin(), all[from].send.end(),
                               [](const Train& a, const Train& b) { return a.step < b.step; }));
    EXPECT_LE(worst_queue(all, from), std::max(4u * grain, 8u)) << "to " << from;
  }
  EXPECT_GE(all[0].steps, least);
  EXPECT_LE(static_cast<double>(all[0].steps),
            1.05 * static_cast<double>(least) + 2.0 * grain * ranks);
}

TEST(Uneven, EveryPacketHasItsStepAndNoReceiverTwoAtOnce) {
  for (unsigned seed = 0; seed < 4; ++seed) {
    SCOPED_TRACE(seed);
    expect_good(random_bytes(16, 100'000, seed), 16, 1);
    expect_good(random_bytes(7, 300'000, seed), 7, 4);
  }
}

TEST(Uneven, OneHotReceiverIsSentToAllTheTime) {
  expect_good(hot(16, 35'000, 10), 16, 1);
  expect_good(hot(16, 350'000, 10), 16, 1);  // more packets than units
}

TEST(Uneven, AnUplinkStretchesTheSteps) {
  const auto bytes = random_bytes(8, 100'000, 1);
  const auto needs = 3 * fullest(bytes, 8);
  const auto all = make_all(bytes, 8, 1, needs);
  EXPECT_GE(all[0].steps, needs);
  EXPECT_LE(all[0].steps, needs + needs / 14);
  // Dealt out over all of them, not left for the end.
  const auto& send = all[0].send;
  EXPECT_GT(send.back().step, needs * 8 / 10);
  std::uint64_t first_half = 0, total = 0;
  for (const Train& train : send) {
    total += train.packets;
    if (train.step < all[0].steps / 2) first_half += train.packets;
  }
  EXPECT_NEAR(static_cast<double>(first_half), 0.5 * static_cast<double>(total),
              0.1 * static_cast<double>(total));
}

TEST(Uneven, NothingToSend) {
  const auto all = make_all(Bytes(9), 3);
  EXPECT_TRUE(all[0].send.empty());
  EXPECT_TRUE(all[0].recv.empty());
}

TEST(Uneven, PaysWhereAPortHasMuchMoreThanTheAverage) {
  EXPECT_FALSE(uneven_pays(Bytes(64, 1000), 8));
  EXPECT_TRUE(uneven_pays(hot(8, 1000, 10), 8));
  EXPECT_FALSE(uneven_pays(Bytes(64), 8));
  EXPECT_FALSE(uneven_pays(Bytes(1, 1), 1));
}

TEST(Uneven, SharesNoPortWhereNobodyHasTwoPartners) {
  Bytes bytes(16);
  EXPECT_TRUE(unshared(bytes, 4));
  bytes[0] = 7;             // its own
  bytes[1] = bytes[8] = 5;  // 0 to 1, 2 to 0
  EXPECT_TRUE(unshared(bytes, 4));
  bytes[13] = 1;  // 3 to 1
  EXPECT_FALSE(unshared(bytes, 4));
  bytes[13] = 0;
  bytes[3] = 1;  // 0 to 3
  EXPECT_FALSE(unshared(bytes, 4));
}

}  // namespace
}  // namespace alm::plan
