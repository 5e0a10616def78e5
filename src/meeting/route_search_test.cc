#include "meeting/route_search.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>

#include "meeting/hop_questions.h"

namespace alm::meeting {
namespace {

io::Address router(std::size_t number) {
  return io::make_address("198.19.0." + std::to_string(number + 1), 0).value();
}

TEST(RouteSearch, TheMoreRoutesTheMoreAnswersItTakes) {
  // As published for multipath traceroute.
  const std::vector<std::size_t> published{6, 11, 16, 21, 27, 33};
  for (std::size_t i = 0; i < published.size(); ++i) {
    EXPECT_EQ(RouteSearch::answers_for(i + 1), published[i]);
  }
}

TEST(RouteSearch, WhatOneHostHasShownIsLookedForAtAll) {
  RouteSearch search;
  EXPECT_FALSE(search.has_enough(0));
  for (int i = 0; i < 20; ++i) search.answered(0, router(i % 2));
  EXPECT_TRUE(search.has_enough(0));
  EXPECT_FALSE(search.has_enough(1));
  search.answered(1, router(0));
  EXPECT_FALSE(search.has_enough(1));
  search.answered(1, router(1));
  EXPECT_TRUE(search.has_enough(1));
  for (int i = 0; i < 20; ++i) search.answered(1, router(2));
  EXPECT_FALSE(search.has_enough(0)) << "one more route is known now";
}

TEST(RouteSearch, PathsBeyondTheRoutesTakeMoreFiveTuples) {
  RouteSearch search(4);
  for (int i = 0; i < 11; ++i) search.answered(0, router(0));
  search.answered(0, router(1));
  EXPECT_FALSE(search.has_enough(0));
  search.answered(0, router(1));
  EXPECT_TRUE(search.has_enough(0));
}

// A fabric of `routes` routes that hashes 36 five-tuples to each of 12 hosts: how many questions
// are asked, and how many (host, route) are not found.
struct Found {
  std::size_t questions = 0, missed = 0;
};
Found ask_fabric(std::size_t routes, std::uint64_t seed, double answers) {
  constexpr std::size_t kFabricHosts = 12, kTuples = 36;
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> chance;
  std::vector<io::HopQuestion> questions;
  for (std::size_t tuple = 0; tuple < kTuples; ++tuple) {
    for (std::uint32_t host = 0; host < kFabricHosts; ++host) {
      const auto to = io::make_address("198.18.0." + std::to_string(host + 1),
                                       static_cast<std::uint16_t>(40000 + tuple % 6));
      questions.push_back({static_cast<std::uint8_t>(tuple / 6), to.value(), 2, host});
    }
  }
  RouteSearch search;
  HopQuestions hops(questions, 100, &search);
  hops.begin(0);
  std::vector<std::set<std::size_t>> met(kFabricHosts);
  Found found;
  for (base::Nanos now = 0; !hops.done(now);) {
    const auto question = hops.next(now);
    if (!question) {
      now = hops.deadline();
      continue;
    }
    ++found.questions;
    if (chance(random) > answers) continue;
    const std::size_t route = random() % routes;
    met[question->host].insert(route);
    hops.answered({question->socket, question->to, router(route)});
  }
  for (const auto& of_host : met) found.missed += routes - of_host.size();
  return found;
}

TEST(RouteSearch, AFewQuestionsFindAllRoutesOfSeededFabrics) {
  for (const std::size_t routes : {1u, 2u, 3u, 4u, 8u}) {
    std::size_t questions = 0, missed = 0;
    constexpr std::size_t kSeeds = 50;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      const Found found = ask_fabric(routes, seed, 1);
      questions += found.questions;
      missed += found.missed;
    }
    // The harmonic number of the routes, for each host.
    double expected = 0;
    for (std::size_t route = 1; route <= routes; ++route) {
      expected += static_cast<double>(routes) / static_cast<double>(route);
    }
    EXPECT_LE(questions, kSeeds * 12 * expected * 1.4 + kSeeds * 12) << routes;
    EXPECT_LE(missed, kSeeds * 12 * routes / 100) << routes;
  }
}

TEST(RouteSearch, SilentFabricsAreGivenUp) {
  const Found found = ask_fabric(4, 1, 0);
  EXPECT_LE(found.questions, HopQuestions::kUnderWay * HopQuestions::kTries);
}

TEST(RouteSearch, RoutersThatAnswerNowAndThenAreAskedAgain) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_LE(ask_fabric(4, seed, 0.5).missed, 3U);
  }
}

}  // namespace
}  // namespace alm::meeting
