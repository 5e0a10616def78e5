#include "tuning/decisions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace alm::tuning {
namespace {

using testing::HasSubstr;

Decision decision(std::uint64_t least = 128, std::uint32_t ranks = 32) {
  return {{"0.1.0", "Open MPI v5.0.8", "00c0ffee"},
          std::string(kCallsOfOneSize),
          ranks,
          ranks,
          least,
          2 * least - 1,
          "library",
          "the fastest of 2",
          {{"udp grid:8x4", "grid 8 x 4 over UDP", 15'600'000, 8, 10},
           {"library", "the MPI library", 14'200'000, 8, 0},
           {"mpi pairwise", "pairwise over MPI point-to-point messages", 0, 0, 0}}};
}

TEST(Decisions, ComeBackAsTheyWent) {
  const std::vector<Decision> all = {decision(), decision(1), decision(1 << 20, 7)};
  const auto back = parse_decisions(format_decisions(all), "file");
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back.value(), all);
  const auto none = parse_decisions(format_decisions({}), "file");
  ASSERT_TRUE(none);
  EXPECT_TRUE(none.value().empty());
}

TEST(Decisions, WhatAProfilePredictsComesBackToo) {
  Decision with = decision();
  with.shape.profile = "0123456789abcdef";
  with.ways[1].predicted = 14'000'000;
  const auto back = parse_decisions(format_decisions(std::vector{with, decision()}), "file");
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back.value()[0], with);
  EXPECT_EQ(back.value()[1], decision()) << "none, as in files of earlier versions";
  EXPECT_FALSE(same_subject(with, decision()));
  std::string text = format_decisions(std::vector{with});
  text.replace(text.find("predicted_us = "), 15, "predicted_us = -");
  EXPECT_THAT(parse_decisions(text, "file").error().message, HasSubstr("`predicted_us`"));
}

TEST(Decisions, NamesMayHoldAnything) {
  Decision odd = decision();
  odd.shape.mpi = "a \"quoted\\name\"\n[[x]] \xc3\xa9";
  const auto back = parse_decisions(format_decisions(std::vector{odd}), "file");
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back.value()[0].shape.mpi, "a \"quoted\\name\" [[x]]   ");
}

TEST(Decisions, ANewOneReplacesThatOfTheSameSubject) {
  std::vector<Decision> all = {decision(), decision(256)};
  Decision newer = decision();
  newer.chosen = newer.ways[0].key;
  merge(all, newer);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[1], newer);
  newer.shape.mpi = "MPICH 5";
  merge(all, newer);
  EXPECT_EQ(all.size(), 3u);
  newer.calls = kCallsOfAnySize;
  merge(all, newer);
  EXPECT_EQ(all.size(), 4u);
}

TEST(Decisions, NamesMayBeWordedAnew) {
  std::vector<Decision> all = {decision()};
  Decision newer = decision();
  newer.ways[0].name = "a grid of 8 by 4, over UDP";
  EXPECT_TRUE(same_subject(all[0], newer));
  newer.ways[0].key = "udp grid:4x8";
  EXPECT_FALSE(same_subject(all[0], newer));
}

TEST(Decisions, AFileOfAnEarlierFormatIsRefusedByThatName) {
  const auto old = parse_decisions("decisions = 1\n[[decision]]\nranks = 3\n", "d.toml");
  ASSERT_FALSE(old);
  EXPECT_THAT(old.error().message, HasSubstr("d.toml has format 1 of an earlier version"));
}

TEST(Decisions, AWayIsChosenBecauseItIsTheFastest) {
  Trial trial({Transport::kUdp, Transport::kMpi});
  while (!trial.decided()) {
    trial.took(trial.way() == 0 ? 50 : 40);
    if (trial.due()) trial.agree(std::vector<base::Nanos>(trial.times()));
  }
  EXPECT_EQ(why_chosen(trial), "the fastest of 2");
}

// In the order of the calls of a job that ends soon.
TEST(Decisions, ATrialThatIsCutShortHasFoundWhatItHasSeenOften) {
  Trial trial({Transport::kUdp, Transport::kMpi, Transport::kMpi});
  const auto call = [&] {
    trial.took((trial.way() == 0 ? 50 : 70) * base::kMillisecond);
    if (trial.due()) trial.agree(std::vector<base::Nanos>(trial.times()));
  };
  while (trial.sightings(0) < TrialRules::kSettled) {
    EXPECT_EQ(way_found(trial), std::nullopt);
    call();
  }
  ASSERT_FALSE(trial.has_decided());
  EXPECT_EQ(way_found(trial), 0u);
  EXPECT_EQ(why_chosen(trial), "the fastest of 3 so far");
}

TEST(Decisions, AFewSightingsOfAnEarlierJobCountForNothingUnlessTheyWereSlow) {
  Decision one = decision();
  one.chosen = one.ways[0].key;
  one.ways[0].time = 100;
  one.ways[0].seen = 1;
  EXPECT_TRUE(counts(one, one.ways[0]));
  one.ways[1].time = 300;
  one.ways[1].seen = 3;
  EXPECT_FALSE(counts(one, one.ways[1]));
  one.ways[1].seen = 4;
  EXPECT_TRUE(counts(one, one.ways[1]));
  one.ways[1].seen = 1;
  one.ways[1].time = 500;
  EXPECT_TRUE(counts(one, one.ways[1]));
  one.ways[0].time = 100 * base::kMillisecond;
  one.ways[1].time = 190 * base::kMillisecond;
  one.ways[1].seen = 2;
  EXPECT_FALSE(counts(one, one.ways[1]));
  one.ways[1].seen = 3;
  EXPECT_TRUE(counts(one, one.ways[1])) << "a trial rules it out for that";
}

TEST(Decisions, WhatIsNoDecisionFileSaysWhy) {
  const auto message = [](std::string_view text) {
    const auto parsed = parse_decisions(text, "d.toml");
    return parsed ? "taken" : parsed.error().message;
  };
  EXPECT_THAT(message("name = \"x\"\n"), HasSubstr("d.toml is no decision file"));
  EXPECT_THAT(message("name = \"x\"\n"), HasSubstr("decisions = 2"));
  EXPECT_THAT(message("decisions = 3\n"), HasSubstr("decisions = 2"));
  EXPECT_THAT(message("decisions = \n"), HasSubstr("d.toml:1: not valid TOML"));
  EXPECT_THAT(message("decisions = 2\ndecision = 5\n"), HasSubstr("array of tables"));
  EXPECT_THAT(message("decisions = 2\n[[decision]]\nranks = 3\n"), HasSubstr("`version`"));
  EXPECT_THAT(message(std::string(2 << 20, '#')), HasSubstr("1 MiB"));
  std::string text = format_decisions(std::vector{decision()});
  text.replace(text.find("chosen = \"lib"), 13, "chosen = \"xxx");
  EXPECT_THAT(message(text), HasSubstr("`chosen`"));
}

// Whatever becomes of the file: read or refused, never a crash.
TEST(Decisions, DamagedFilesAreRefusedOrRead) {
  const std::string good = format_decisions(std::vector{decision(), decision(1)});
  const unsigned seed = 5;
  std::mt19937 random(seed);
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = good;
    for (int hits = 1 + static_cast<int>(random() % 3); hits > 0; --hits) {
      const std::size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, random() % 40);
          break;
        default:
          text.insert(at, 1, "[]{}=\"'\n,.#-"[random() % 12]);
      }
    }
    refused += parse_decisions(text, "file") ? 0 : 1;
  }
  EXPECT_GT(refused, 1000) << "seed " << seed;
}

}  // namespace
}  // namespace alm::tuning
