#include "meeting/round_trip_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace alm::meeting {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr base::Nanos kMicro = base::kMicrosecond;

// Two leaves of three hosts, some milliseconds apart by the file.
constexpr std::string_view kCluster = R"(format = 1
name = "two"

[[switch]]
name = "leaf[0-1],top"

[[host]]
name = "h[0-5]"

[[link]]
from = "h[0-2]"
to = "leaf0"
rate_mbit_s = 100

[[link]]
from = "h[3-5]"
to = "leaf1"
rate_mbit_s = 100

[[link]]
from = "leaf[0-1]"
to = "top"
rate_mbit_s = 1000
latency_us = {}
)";
constexpr std::uint32_t kLineOfFirstHosts = 11, kLineOfLatency = 24;

class RoundTripCheck : public testing::Test {
 protected:
  void describe(const std::string& latency_us) {
    std::string text(kCluster);
    text.replace(text.find("{}"), 2, latency_us);
    auto parsed = topology::parse_cluster(text, "two.toml");
    ASSERT_TRUE(parsed) << parsed.error().message;
    cluster_ = std::move(parsed).value();
    for (std::uint32_t host = 0; host < cluster_.host_count(); ++host) hosts_.emplace_back(host);
  }
  // Round trips by the leaves on which hosts really are, with up to `noise` on top.
  void measure(const std::vector<int>& leaf_of, base::Nanos within, base::Nanos across,
               base::Nanos noise, std::uint64_t seed = 1) {
    std::mt19937_64 random(seed);
    times_.clear();
    for (std::size_t a = 0; a < leaf_of.size(); ++a) {
      for (std::size_t b = 0; b < leaf_of.size(); ++b) {
        const base::Nanos more =
            static_cast<base::Nanos>(random() % static_cast<std::uint64_t>(noise));
        times_.push_back(a == b ? 0 : more + (leaf_of[a] == leaf_of[b] ? within : across));
      }
    }
  }
  auto leaves() const { return leaf_remarks(cluster_, hosts_, times_); }
  auto latencies() const { return latency_remarks(cluster_, hosts_, times_); }

  topology::Cluster cluster_;
  std::vector<base::HostId> hosts_;
  std::vector<base::Nanos> times_;
};

TEST_F(RoundTripCheck, NothingIsSaidOfAFileThatIsRight) {
  describe("0");
  measure({0, 0, 0, 1, 1, 1}, 200 * kMicro, 220 * kMicro, 8 * kMicro);
  EXPECT_THAT(leaves(), IsEmpty());
  EXPECT_THAT(latencies(), IsEmpty());
  EXPECT_TRUE(can_be_checked(cluster_, hosts_));
}

TEST_F(RoundTripCheck, HostsThatAreNearToHostsOfAnotherLeafAreNamedWithTheirLine) {
  describe("0");
  measure({0, 0, 1, 0, 1, 1}, 200 * kMicro, 220 * kMicro, 8 * kMicro);
  const auto remarks = leaves();
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_EQ(remarks[0].line, kLineOfFirstHosts);
  EXPECT_THAT(remarks[0].text,
              AllOf(HasSubstr("h2 does not hang on leaf0"),
                    HasSubstr("of leaf1 answers it within 0.2"), HasSubstr("so it is with h3")));
}

TEST_F(RoundTripCheck, NoiseIsNoLeaf) {
  describe("0");
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    measure({0, 0, 1, 0, 1, 1}, 200 * kMicro, 210 * kMicro, 300 * kMicro, seed);
    EXPECT_THAT(leaves(), IsEmpty()) << seed;
  }
  // One host that is slow to answer is on no other leaf.
  measure({0, 0, 2, 1, 1, 1}, 200 * kMicro, 220 * kMicro, 8 * kMicro);
  EXPECT_THAT(leaves(), IsEmpty());
}

TEST_F(RoundTripCheck, OneSwitchWhereTheFileHasTwoRefutesNothing) {
  describe("0");
  measure({0, 0, 0, 0, 0, 0}, 200 * kMicro, 220 * kMicro, 8 * kMicro);
  EXPECT_THAT(leaves(), IsEmpty());
}

TEST_F(RoundTripCheck, ALatencyThatPacketsUndercutIsTooHigh) {
  describe("5000");
  measure({0, 0, 0, 1, 1, 1}, 200 * kMicro, 2200 * kMicro, 8 * kMicro);
  const auto remarks = latencies();
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_EQ(remarks[0].line, kLineOfLatency);
  EXPECT_THAT(remarks[0].text, AllOf(HasSubstr("leaf0 -> top, 5000 us, is too high"),
                                     HasSubstr("take 20 ms by the file")));
}

TEST_F(RoundTripCheck, ALatencyThatNoPacketComesNearToIsTooLow) {
  describe("500");
  measure({0, 0, 0, 1, 1, 1}, 200 * kMicro, 20200 * kMicro, 8 * kMicro);
  const auto remarks = latencies();
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_THAT(remarks[0].text, AllOf(HasSubstr("is too low"), HasSubstr("in no less than 20.")));
}

TEST_F(RoundTripCheck, WhereAllHostsAnswerLateNoLatencyIsTooLow) {
  describe("500");
  measure({0, 0, 0, 1, 1, 1}, 19000 * kMicro, 20200 * kMicro, 8 * kMicro);
  EXPECT_THAT(latencies(), IsEmpty());
}

TEST_F(RoundTripCheck, WhatWasNotMeasuredIsLeftOut) {
  describe("500");
  times_.assign(hosts_.size() * hosts_.size(), 0);
  EXPECT_THAT(leaves(), IsEmpty());
  EXPECT_THAT(latencies(), IsEmpty());
}

}  // namespace
}  // namespace alm::meeting
