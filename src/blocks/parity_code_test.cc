#include "blocks/parity_code.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace alm::blocks {
namespace {

using Bytes = std::vector<std::byte>;

// A block of packets of `length` bytes, the last one of `end`.
std::vector<Bytes> block(std::uint32_t count, std::size_t length, std::size_t end,
                         std::mt19937_64& random) {
  std::vector<Bytes> packets(count, Bytes(length));
  packets.back().resize(end);
  for (Bytes& packet : packets) {
    for (std::byte& value : packet) value = static_cast<std::byte>(random());
  }
  return packets;
}

// What is found of `lost` from the parities of these indices.
std::vector<Bytes> recover(const std::vector<Bytes>& packets, std::vector<std::uint32_t> lost,
                           const std::vector<std::uint32_t>& indices) {
  const auto count = static_cast<std::uint32_t>(packets.size());
  Parities parities;
  for (const std::uint32_t index : indices) {
    Bytes parity(packets[0].size());
    make_parity(
        index, count, [&](std::uint32_t i) { return std::span<const std::byte>(packets[i]); },
        parity);
    parities.add(index, parity);
  }
  std::sort(lost.begin(), lost.end());
  return parities.solve(count, lost, [&](std::uint32_t i) -> std::span<const std::byte> {
    if (std::find(lost.begin(), lost.end(), i) != lost.end()) return {};
    return packets[i];
  });
}

void expect_found(const std::vector<Bytes>& packets, std::vector<std::uint32_t> lost,
                  const std::vector<Bytes>& found) {
  std::sort(lost.begin(), lost.end());
  ASSERT_EQ(found.size(), lost.size());
  for (std::size_t i = 0; i < lost.size(); ++i) {
    const Bytes& truth = packets[lost[i]];
    EXPECT_TRUE(std::equal(truth.begin(), truth.end(), found[i].begin())) << lost[i];
    EXPECT_TRUE(std::all_of(found[i].begin() + static_cast<std::ptrdiff_t>(truth.size()),
                            found[i].end(), [](std::byte value) { return value == std::byte{0}; }));
  }
}

TEST(ParityCode, TheFirstParityIsTheExclusiveOr) {
  const std::vector<Bytes> packets{{std::byte{1}, std::byte{0xF0}}, {std::byte{3}}};
  Bytes parity(2);
  make_parity(
      0, 2, [&](std::uint32_t i) { return std::span<const std::byte>(packets[i]); }, parity);
  EXPECT_EQ(parity, (Bytes{std::byte{2}, std::byte{0xF0}}));
}

TEST(ParityCode, TheSecondWeighsPacketsByPowersOfTwo) {
  const std::vector<Bytes> packets{{std::byte{1}}, {std::byte{1}}, {std::byte{0x40}}};
  Bytes parity(1);
  make_parity(
      1, 3, [&](std::uint32_t i) { return std::span<const std::byte>(packets[i]); }, parity);
  EXPECT_EQ(parity[0], std::byte{1 ^ 2 ^ 0x1D});  // 0x40 doubled twice leaves the field once
}

TEST(ParityCode, AsManyLostPacketsAsParitiesAreFound) {
  std::mt19937_64 random(1);
  for (int turn = 0; turn < 300; ++turn) {
    const auto count = static_cast<std::uint32_t>(1 + random() % kParityBlockMax);
    const std::size_t length = 1 + random() % 60;
    const auto packets = block(count, length, 1 + random() % length, random);
    std::vector<std::uint32_t> all(count);
    std::iota(all.begin(), all.end(), 0);
    std::shuffle(all.begin(), all.end(), random);
    all.resize(1 + random() % std::min(count, kParitiesMax));
    std::vector<std::uint32_t> indices(all.size());
    std::iota(indices.begin(), indices.end(), 0);
    expect_found(packets, all, recover(packets, all, indices));
  }
}

TEST(ParityCode, MostCombinationsAreFoundWhereParitiesAreLostToo) {
  std::mt19937_64 random(2);
  int found = 0;
  for (int turn = 0; turn < 300; ++turn) {
    const auto packets = block(kParityBlockMax, 16, 16, random);
    std::vector<std::uint32_t> lost(kParityBlockMax), indices(kParitiesMax);
    std::iota(lost.begin(), lost.end(), 0);
    std::iota(indices.begin(), indices.end(), 0);
    std::shuffle(lost.begin(), lost.end(), random);
    std::shuffle(indices.begin(), indices.end(), random);
    lost.resize(3);
    indices.resize(3);
    const auto told = recover(packets, lost, indices);
    if (told.empty()) continue;
    ++found;
    expect_found(packets, lost, told);
  }
  EXPECT_GT(found, 285);
}

// 2^85 cubed is 1: parities 0 and 3 weigh packets 0 and 85 alike.
TEST(ParityCode, WhatCannotBeToldWaitsForAnotherParity) {
  std::mt19937_64 random(3);
  const auto packets = block(100, 16, 16, random);
  EXPECT_TRUE(recover(packets, {0, 85}, {0, 3}).empty());
  expect_found(packets, {0, 85}, recover(packets, {0, 85}, {0, 3, 1}));
}

}  // namespace
}  // namespace alm::blocks
