#include "tuning/forecast.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "plan/combining.h"

namespace alm::tuning {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<std::string> kHosts = {"h0", "h1", "h2", "h3"};

model::Profile profile(std::string_view rest) {
  auto parsed = model::parse_profile(R"(
format = 1
[network]
hosts = "h[0-5]"
version = "0.1.0"
mpi = "Open MPI v5.0.8"
[cluster]
format = 1
name = "found"
[[cluster.switch]]
name = "s"
[[cluster.host]]
name = "h[0-5]"
[[cluster.link]]
from = "h[0-5]"
to = "s"
rate_mbit_s = 100
queue_down_packets = 43
)" + std::string(rest),
                                     "net.toml");
  EXPECT_TRUE(parsed) << parsed.error().message;
  return std::move(parsed).value();
}

// Of 4 hosts. `way`: as decision files name it; empty: it is not said.
std::string sample(std::string_view candidate, std::string_view way, int bytes,
                   std::string_view times) {
  const std::string way_line = way.empty() ? "" : fmt::format("way = \"{}\"\n", way);
  return fmt::format("[[sample]]\ncandidate = \"{}\"\n{}hosts = 4\nbytes = {}\ntimes_s = [{}]\n",
                     candidate, way_line, bytes, times);
}

TEST(Forecast, KnowsAWayByItsKeyOrByWhatBenchCallsIt) {
  const auto known =
      profile(sample("openmpi", "library", 1000, "0.004, 0.005, 0.006") +
              sample("mpich", "library", 1000, "0.009, 0.009, 0.009") +
              sample("measured by hand", "mpi few", 1000, "0.003, 0.003, 0.003") +
              sample("allemande+mpich:algorithm=sync-shuffle", "", 1000, "0.002, 0.002, 0.002"));
  const Forecast forecast(known, kHosts);
  EXPECT_EQ(forecast.of("library", 1000).time, 5 * base::kMillisecond);
  EXPECT_EQ(forecast.of("mpi few", 1000).time, 3 * base::kMillisecond);
  EXPECT_EQ(forecast.of("udp sync-shuffle@balanced", 1000).time, 2 * base::kMillisecond);
  EXPECT_FALSE(forecast.of("mpi all", 1000).known());
  EXPECT_LT(forecast.of("library", 1000).low, 5 * base::kMillisecond);
  EXPECT_GT(forecast.of("library", 1000).high, 5 * base::kMillisecond);
}

TEST(Forecast, OurWaysAreForeseenFromHowTheyAreMade) {
  const auto known = profile("");
  Forecast forecast(known, kHosts);
  plan::Request request;
  request.ranks = 4;
  request.self = base::Rank{0};
  const auto made = plan::make_plan(request);
  ASSERT_TRUE(made) << made.error().message;
  const plan::Plan& rounds = made.value();
  const std::string key = "udp " + rounds.identity;
  EXPECT_FALSE(forecast.of(key, 100'000).known());
  forecast.add(rounds, {});
  const Foreseen large = forecast.of(key, 100'000);
  // Three blocks at 100 Mbit/s.
  EXPECT_GT(large.time, 24 * base::kMillisecond);
  EXPECT_LT(large.time, 48 * base::kMillisecond);
  EXPECT_FALSE(forecast.of(key, 1000).known()) << "what hosts take was not measured";
  for (const auto& combining : plan::combining_plans(4, base::Rank{0}, {}, 1448)) {
    forecast.add(combining, {});
    EXPECT_TRUE(forecast.of("udp " + combining.identity, 100'000).known()) << combining.identity;
  }
}

TEST(Forecast, ASampleOfAWayTellsOfAllItsShapes) {
  const auto known = profile(sample("by hand", "udp grid", 100, "0.002, 0.002, 0.002"));
  Forecast forecast(known, kHosts);
  EXPECT_EQ(forecast.of("udp grid:2x2", 100).time, 2 * base::kMillisecond);
  EXPECT_FALSE(forecast.of("udp bruck:2", 100).known());
}

TEST(Forecast, TwoWaysThatBenchGivesOneNameAreForeseenApart) {
  const std::string candidate = "allemande+openmpi:algorithm=multi-site";
  const auto known =
      profile(sample(candidate, "udp multi-site-combined", 100, "0.002, 0.002, 0.002") +
              sample(candidate, "udp multi-site", 1000, "0.009, 0.009, 0.009"));
  const Forecast forecast(known, kHosts);
  EXPECT_EQ(forecast.of("udp multi-site-combined", 100).time, 2 * base::kMillisecond);
  EXPECT_EQ(forecast.of("udp multi-site", 1000).time, 9 * base::kMillisecond);
  EXPECT_NE(forecast.of("udp multi-site", 100).time, 2 * base::kMillisecond);
}

TEST(Forecast, CoversHostsOfTheProfile) {
  const auto known = profile("");
  EXPECT_TRUE(Forecast::covers(known, kHosts));
  EXPECT_FALSE(Forecast::covers(known, std::vector<std::string>{"h0", "h9"}));
}

TEST(Forecast, CandidatesOfAWay) {
  EXPECT_THAT(
      candidates_of("udp grid:8x4", "MPICH Version: 5.0.0"),
      ElementsAre("allemande+mpich:algorithm=grid:8x4", "allemande+openmpi:algorithm=grid:8x4"));
  EXPECT_THAT(candidates_of("library", "MPICH Version: 5.0.0"), ElementsAre("mpich"));
  EXPECT_THAT(candidates_of("mpi pairwise", "Open MPI v5.0.8"), ElementsAre("openmpi:pairwise"));
  EXPECT_THAT(candidates_of("library", "Other MPI 1"), IsEmpty());
}

TEST(Forecast, TimesWhoseIntervalsMeetOverlap) {
  EXPECT_TRUE((Foreseen{10, 8, 12}.overlaps({13, 12, 14})));
  EXPECT_FALSE((Foreseen{10, 8, 12}.overlaps({14, 13, 15})));
}

}  // namespace
}  // namespace alm::tuning
