#include "schedule/decompose.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <string>

namespace alm::schedule {
namespace {

using Matrix = std::vector<std::uint32_t>;

// Empty, or the first thing that is wrong.
std::string check(const Matrix& units, std::uint32_t ranks, const Decomposition& result) {
  if (result.matchings.size() > 4 * ranks) return "more than 4p matchings";
  Matrix given = result.rest.empty() ? Matrix(units.size()) : result.rest;
  std::uint64_t steps = 0;
  for (const Matching& matching : result.matchings) {
    std::vector<bool> receives(ranks);
    for (std::uint32_t from = 0; from < ranks; ++from) {
      const std::uint32_t to = matching.to[from];
      if (to == from) continue;
      if (receives[to]) return "rank " + std::to_string(to) + " receives twice in one step";
      receives[to] = true;
      given[from * ranks + to] += matching.steps;
    }
    steps += matching.steps;
  }
  if (steps != result.steps) return "steps do not add up";
  for (std::uint32_t from = 0; from < ranks; ++from) {
    for (std::uint32_t to = 0; to < ranks; ++to) {
      if (from != to && given[from * ranks + to] < units[from * ranks + to]) {
        return "not everything from " + std::to_string(from) + " to " + std::to_string(to);
      }
    }
  }
  return {};
}

Matrix uniform(std::uint32_t ranks, std::uint32_t each) {
  return Matrix(std::size_t{ranks} * ranks, each);
}

// What a router of experts makes: every rank sends as much, popular receivers get more.
Matrix zipf(std::uint32_t ranks, std::uint32_t mean, double exponent, unsigned seed) {
  std::vector<double> weight(ranks);
  for (std::uint32_t i = 0; i < ranks; ++i) weight[i] = std::pow(i + 1, -exponent);
  std::mt19937 random(seed);
  std::shuffle(weight.begin(), weight.end(), random);
  const double sum = std::accumulate(weight.begin(), weight.end(), 0.0);
  Matrix units(std::size_t{ranks} * ranks);
  for (std::uint32_t from = 0; from < ranks; ++from) {
    for (std::uint32_t to = 0; to < ranks; ++to) {
      units[from * ranks + to] =
          static_cast<std::uint32_t>(std::lround(weight[to] / sum * mean * ranks));
    }
  }
  return units;
}

Matrix random_units(std::uint32_t ranks, std::uint32_t most, unsigned seed, double density) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<std::uint32_t> amount(0, most);
  std::bernoulli_distribution some(density);
  Matrix units(std::size_t{ranks} * ranks);
  for (auto& unit : units) unit = some(random) ? amount(random) : 0;
  return units;
}

void expect_good(const Matrix& units, std::uint32_t ranks, double rest) {
  const auto result = decompose(units, ranks);
  EXPECT_EQ(check(units, ranks, result), "");
  const auto least = steps_min(units, ranks);
  EXPECT_LE(result.steps, least);
  const auto left = result.rest.empty() ? 0 : steps_min(result.rest, ranks);
  EXPECT_LE(static_cast<double>(left), rest * static_cast<double>(least));
}

TEST(Decompose, EqualBlocksTakeAsManyMatchingsAsThereArePartners) {
  for (const std::uint32_t ranks : {2u, 3u, 7u, 8u, 32u, 65u}) {
    const auto units = uniform(ranks, 5);
    const auto result = decompose(units, ranks);
    EXPECT_EQ(check(units, ranks, result), "");
    EXPECT_EQ(result.steps, 5u * (ranks - 1));
    EXPECT_EQ(result.matchings.size(), ranks - 1);
  }
}

TEST(Decompose, NothingTakesNoStep) {
  EXPECT_TRUE(decompose(uniform(4, 0), 4).matchings.empty());
  EXPECT_EQ(decompose(uniform(4, 0), 4).steps, 0u);
}

TEST(Decompose, OnePairOnly) {
  Matrix units(16);
  units[1 * 4 + 3] = 9;
  const auto result = decompose(units, 4);
  EXPECT_EQ(check(units, 4, result), "");
  EXPECT_EQ(result.steps, 9u);
}

TEST(Decompose, TheDiagonalIsNotSent) {
  Matrix units(9);
  units[0] = units[4] = units[8] = 100;
  EXPECT_EQ(decompose(units, 3).steps, 0u);
}

TEST(Decompose, SkewedLoadsTakeNoMoreThanTheFullestPortNeedsAndLeaveLittle) {
  for (const std::uint32_t ranks : {8u, 32u, 48u}) {
    for (unsigned seed = 0; seed < 5; ++seed) {
      SCOPED_TRACE(std::to_string(ranks) + " ranks, seed " + std::to_string(seed));
      expect_good(zipf(ranks, 35, 1.2, seed), ranks, 0.05);
      expect_good(random_units(ranks, 70, seed, 1), ranks, 0.01);
      expect_good(random_units(ranks, 35, seed, 0.2), ranks, 0);
      auto hot = uniform(ranks, 35);
      for (std::uint32_t from = 0; from < ranks; ++from) hot[from * ranks + seed] = 350;
      expect_good(hot, ranks, 0);
    }
  }
}

TEST(Decompose, AnyMatrixIsCovered) {
  std::mt19937 random(1);
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  for (int i = 0; i < 300; ++i) {
    const std::uint32_t ranks = 2 + below(12);
    const auto units = random_units(ranks, 1 + below(1000), below(1u << 30), 0.1 + 0.1 * (i % 10));
    ASSERT_EQ(check(units, ranks, decompose(units, ranks)), "") << "ranks " << ranks << ", " << i;
  }
}

}  // namespace
}  // namespace alm::schedule
