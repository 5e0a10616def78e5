#include "model/predictor.h"

#include <gtest/gtest.h>

#include <string>

namespace alm::model {
namespace {

constexpr const char* kOneLeaf = R"(
[[cluster.switch]]
name = "leaf0"
[[cluster.host]]
name = "h[0-3]"
[[cluster.link]]
from = "h[0-3]"
to = "leaf0"
rate_mbit_s = 100
)";

Profile profile_on(const std::string& hosts, const std::string& network, const std::string& more) {
  const std::string head = "format = 1\n[network]\nhosts = \"" + hosts +
                           "\"\nversion = \"1\"\n[cluster]\nformat = 1\nname = \"found\"\n";
  auto parsed = parse_profile(head + network + more, "net.toml");
  EXPECT_TRUE(parsed) << parsed.error().message;
  return std::move(parsed).value();
}

Profile profile_with(const std::string& more) { return profile_on("h[0-3]", kOneLeaf, more); }

std::string sample(int bytes, const std::string& times,
                   const std::string& of = "candidate = \"openmpi\"\nway = \"library\"\n") {
  return "[[sample]]\n" + of + "hosts = 4\nbytes = " + std::to_string(bytes) +
         "\ntimes_s = " + times + "\n";
}

ExchangeShape shuffle(std::uint32_t ranks) {
  ExchangeShape shape;
  shape.ranks = ranks;
  shape.phases.push_back({.complete = true, .rounds = {}});
  return shape;
}

TEST(Predictor, ASampleIsWhatWasMeasured) {
  const Profile profile = profile_with(sample(1000, "[0.010, 0.011, 0.012]"));
  const Predictor predictor(profile, 4);
  const auto said = predictor.predict("library", 1000);
  ASSERT_TRUE(said);
  EXPECT_EQ(said->basis, Basis::kMeasured);
  EXPECT_DOUBLE_EQ(said->time_s, 0.011);
  EXPECT_LT(said->low_s, 0.0105);
  EXPECT_GT(said->high_s, 0.0115);
  EXPECT_EQ(predictor.predict("openmpi", 1000)->time_s, said->time_s);
}

TEST(Predictor, BetweenTwoSizesKeepsTheDistanceToTheLimit) {
  const Profile probe = profile_with("");
  const double at_10 = *Predictor(probe, 4).limit_s(10'000);
  const double at_40 = *Predictor(probe, 4).limit_s(40'000);
  const Profile profile = profile_with(sample(10'000, "[" + std::to_string(2 * at_10) + "]") +
                                       sample(40'000, "[" + std::to_string(2 * at_40) + "]"));
  const Predictor predictor(profile, 4);
  const auto said = predictor.predict("library", 20'000);
  ASSERT_TRUE(said);
  EXPECT_EQ(said->basis, Basis::kFitted);
  EXPECT_NEAR(said->time_s, 2 * *predictor.limit_s(20'000), 1e-5);
  EXPECT_EQ(predictor.predict("library", 80'000)->basis, Basis::kExtrapolated);
}

TEST(Predictor, BetweenTwoSizesRoundsOfFewPartnersAreLessCertain) {
  std::string samples;
  for (const char* bytes : {"10000", "40000"}) {
    samples +=
        std::string("[[sample]]\ncandidate = \"ours\"\nway = \"udp pairwise\"\nhosts = 4\n") +
        "bytes = " + bytes + "\ntimes_s = [0.01, 0.01, 0.01]\n";
  }
  const Profile profile = profile_with(samples);
  const Predictor predictor(profile, 4);
  ExchangeShape rounds = shuffle(4);
  rounds.phases.front() = {.complete = false, .interleaved = false};
  for (std::uint32_t apart = 1; apart < 4; ++apart) {
    Round round;
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
      round.messages.push_back({.from = rank, .to = (rank + apart) % 4, .blocks = 1});
    }
    rounds.phases.front().rounds.push_back(round);
  }
  const auto width = [&](std::uint64_t bytes) {
    const auto said = predictor.predict("udp pairwise", bytes, &rounds);
    return said->high_s / said->low_s;
  };
  EXPECT_LT(width(10'000), 1.04);
  EXPECT_GT(width(39'999), 1.12);
  EXPECT_LT(width(39'999), 1.25);
}

TEST(Predictor, OtherNumbersOfHostsKeepTheRatioToTheLimit) {
  const Profile probe = profile_with("");
  const double at_4 = *Predictor(probe, 4).limit_s(10'000);
  const Profile profile = profile_with(sample(10'000, "[" + std::to_string(3 * at_4) + "]"));
  const Predictor three(profile, 3);
  const auto said = three.predict("library", 10'000);
  ASSERT_TRUE(said);
  EXPECT_EQ(said->basis, Basis::kExtrapolated);
  EXPECT_NEAR(said->time_s, 3 * *three.limit_s(10'000), 1e-5);
  EXPECT_GT(said->high_s / said->time_s,
            Predictor(profile, 4).predict("library", 10'000)->high_s / (3 * at_4));
}

// Two leaves of four: among eight hosts MPICH's pairwise exchange takes 11 rounds' time where a
// complete exchange needs 8 (library_rounds_test.cc). Four hosts show nothing of it.
TEST(Predictor, OtherNumbersOfHostsKeepTheRatioToTheRoundsOfALibrary) {
  const std::string two_leaves = R"(
[[cluster.switch]]
name = "leaf[0-1]"
[[cluster.host]]
name = "h[0-7]"
[[cluster.link]]
from = "h[0-3]"
to = "leaf0"
rate_mbit_s = 100
[[cluster.link]]
from = "h[4-7]"
to = "leaf1"
rate_mbit_s = 100
[[cluster.link]]
from = "leaf1"
to = "leaf0"
rate_mbit_s = 200
)";
  const Profile bare = profile_on("h[0-7]", two_leaves, "");
  const std::string time = "[" + std::to_string(2 * *Predictor(bare, 4).limit_s(10'000)) + "]";
  const Profile profile = profile_on("h[0-7]", two_leaves,
                                     sample(10'000, time, "candidate = \"mpich:pairwise\"\n") +
                                         sample(10'000, time, "candidate = \"mpich:scattered\"\n"));
  const Predictor eight(profile, 8);
  const double limit = *eight.limit_s(10'000);
  EXPECT_NEAR(eight.predict("mpich:pairwise", 10'000)->time_s / limit, 2 * 11.0 / 8, 1e-3);
  EXPECT_NEAR(eight.predict("mpich:scattered", 10'000)->time_s / limit, 2, 1e-3);
}

TEST(Predictor, NothingIsSaidOfAWayThatWasNeverSeen) {
  const Profile profile = profile_with(sample(10'000, "[0.1]"));
  EXPECT_FALSE(Predictor(profile, 4).predict("mpi pairwise", 10'000));
}

TEST(Predictor, OursFollowFromTheirShape) {
  const Profile profile = profile_with("");
  const Predictor predictor(profile, 4);
  const ExchangeShape shape = shuffle(4);
  EXPECT_FALSE(predictor.predict("udp sync-shuffle@balanced", 50'000));
  const auto said = predictor.predict("udp sync-shuffle@balanced", 50'000, &shape);
  ASSERT_TRUE(said);
  EXPECT_EQ(said->basis, Basis::kExtrapolated);
  EXPECT_GE(said->time_s, *predictor.limit_s(50'000));
  EXPECT_LT(said->time_s, 1.1 * *predictor.limit_s(50'000));
}

TEST(Predictor, AFitServesOtherNumbersOfHosts) {
  const Profile profile = profile_with(R"([[fit]]
candidate = "openmpi:pairwise"
kind = "signature"
coefficients = [1e-5, 8e-8, 1.5, 1e-3, 5000]
sigma = 0.05
hosts_least = 4
hosts_most = 4
bytes_least = 1000
bytes_most = 100000
)");
  const Predictor all(profile, 4);
  EXPECT_NEAR(all.predict("openmpi:pairwise", 1000)->time_s, 3 * (1e-5 + 1000 * 8e-8 * 1.5), 1e-12);
  EXPECT_NEAR(all.predict("openmpi:pairwise", 5000)->time_s, 3 * (1e-5 + 5000 * 8e-8 * 1.5 + 1e-3),
              1e-12);
  EXPECT_EQ(all.predict("openmpi:pairwise", 5000)->basis, Basis::kFitted);
  EXPECT_EQ(Predictor(profile, 3).predict("openmpi:pairwise", 5000)->basis, Basis::kExtrapolated);
}

}  // namespace
}  // namespace alm::model
