#include "scenario/options.h"

#include <gmock/gmock.h>

#include <cmath>

#include "scenario/test_cluster.h"

namespace alm::scenario {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

TEST(Options, NothingGivenLeavesTheDefaults) {
  const auto read = read_options({});
  ASSERT_TRUE(read);
  EXPECT_EQ(read.value().algorithm.algorithm, plan::Algorithm::kSyncShuffle);
  EXPECT_EQ(read.value().peer_timeout_s, 300 * sim::kPicosPerSecond);
  EXPECT_EQ(read.value().reroute_us, std::nullopt);
}

TEST(Options, EachRuleReadsItsKind) {
  const auto read = read_options({{"algorithm", text("grid:4x2")},
                                  {"size", whole(7)},
                                  {"jitter_us", {1.5}},
                                  {"jitter_interval_us", whole(2)},
                                  {"trace", {true}},
                                  {"send_rule", text("unacked")},
                                  {"mapping", text("random")},
                                  {"hosts", list({text("h1"), text("h0")})},
                                  {"reroute_us", whole(3)},
                                  {"stripe_alpha", {Nothing()}}});
  ASSERT_TRUE(read) << read.error().message;
  const Options& options = read.value();
  EXPECT_EQ(options.algorithm.algorithm, plan::Algorithm::kGrid);
  EXPECT_THAT(options.algorithm.shape, ElementsAre(4, 2));
  EXPECT_EQ(options.size, 7);
  EXPECT_EQ(options.jitter_us, 1'500'000);
  EXPECT_EQ(options.jitter_interval_us, 2'000'000);
  EXPECT_TRUE(options.trace);
  EXPECT_EQ(options.send_rule, transport::SendRule::kUnacked);
  EXPECT_EQ(options.mapping, "random");
  EXPECT_THAT(*options.hosts, ElementsAre("h1", "h0"));
  EXPECT_EQ(options.reroute_us, 3'000'000);
  EXPECT_EQ(options.stripe_alpha, harness::StripedFlow().alpha);
}

TEST(Options, AlgorithmsOfLibrariesAreKnown) {
  EXPECT_EQ(parse_algorithm("mpich:scattered:throttle=4").value().stock,
            "mpich:scattered:throttle=4");
  EXPECT_EQ(parse_algorithm("grid:4x2").value().stock, "");
  EXPECT_THAT(parse_algorithm("openmpi:ring").error().message, HasSubstr("openmpi:linear-sync"));
}

TEST(Options, TablesWithinListsAreReadByTheirKind) {
  const auto read =
      read_options({{"faults", list({table({{"kind", text("block-port")},
                                            {"from", text("h0")},
                                            {"to", text("leaf0")},
                                            {"duration_packets", whole(8)}}),
                                     table({{"kind", text("slow-host")}, {"host", text("h1")}})})},
                    {"overheads_ns", table({{"o_s", whole(5)}})}});
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read.value().faults.size(), 2);
  EXPECT_EQ(read.value().faults[0].what.kind, sim::Fault::Kind::kBlockPort);
  EXPECT_EQ(read.value().faults[0].duration_packets, 8);
  EXPECT_EQ(read.value().faults[1].what.factor, 2);
  EXPECT_EQ(read.value().overheads_ns.o_s, 5'000);
}

TEST(Options, WhatIsWrongIsNamedWithWhatIsExpected) {
  EXPECT_EQ(refusal({{"size", text("big")}}),
            "options: `size` is 'big'; expected a whole number, 0 or more");
  EXPECT_EQ(refusal({{"size", {std::int64_t{-1}}}}),
            "options: `size` is -1; expected a whole number, 0 or more");
  EXPECT_EQ(refusal({{"jobs", whole(65)}}), "options: `jobs` is 65; expected 1 to 64");
  EXPECT_EQ(refusal({{"jitter_us", {std::nan("")}}}),
            "options: `jitter_us` is nan; expected a time of 0 or more");
  EXPECT_EQ(refusal({{"stripe_alpha", whole(0)}}),
            "options: `stripe_alpha` is 0; expected more than 0, up to 1");
  EXPECT_EQ(
      refusal({{"transport", text("rdma")}}),
      "options: transport `rdma` is unknown; expected udp, messages, stripes, tcp, tcp:cubic, "
      "tcp:newreno or tcp:dctcp");
  EXPECT_EQ(refusal({{"reliability", text("none")}}),
            "options: reliability `none` is unknown; expected selective-repeat or go-back-n");
  EXPECT_EQ(refusal({{"trace", whole(1)}}), "options: `trace` is 1; expected true or false");
  EXPECT_EQ(refusal({{"pairs", list({text("h0")})}}), "options: `pairs` is no list of [from, to]");
  EXPECT_EQ(refusal({{"faults", whole(1)}}), "options: `faults` is no list");
  EXPECT_EQ(refusal({{"faults", list({whole(1)})}}),
            "faults[0]: expected a table of keys and values");
  EXPECT_THAT(refusal({{"faults", list({table({{"kind", text("meteor")}})})}}),
              StartsWith("faults[0]: kind `meteor` is unknown; expected link-down, "));
  EXPECT_EQ(refusal({{"routes", list({list({text("h0"), text("h1")})})}}),
            "options: `routes` is no list of [from, to, [[switch, ..], ..]]");
}

TEST(Options, AnUnknownKeyIsRefusedWithTheKnownOnes) {
  EXPECT_THAT(refusal({{"colour", text("red")}}),
              StartsWith("options: `colour` is unknown; expected algorithm, background, "));
  EXPECT_THAT(refusal({{"overheads_ns", table({{"o", whole(1)}})}}),
              StartsWith("overheads_ns: `o` is unknown; expected g, o_r, "));
}

TEST(Options, FlowsHaveOptionsOfTheirOwn) {
  const auto read = read_flow_options({{"rounds", text("free")}, {"overhead_us", {0.5}}});
  ASSERT_TRUE(read);
  EXPECT_EQ(read.value().rounds, "free");
  const auto wrong = read_flow_options({{"jobs", whole(2)}});
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message, HasSubstr("options of flow mode: `jobs` is unknown"));
}

}  // namespace
}  // namespace alm::scenario
