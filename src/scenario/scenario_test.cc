#include "scenario/scenario.h"

#include <gmock/gmock.h>

#include "scenario/test_cluster.h"

namespace alm::scenario {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string refusal_of(const Options& options) {
  const auto made = make_scenario(make_cluster(4), options);
  return made ? "" : made.error().message;
}

Scenario made(const Options& options) { return make_scenario(make_cluster(4), options).value(); }

TEST(Scenario, AllHostsSendTheSameToEachOtherUnlessAskedOtherwise) {
  Options options;
  options.size = 100;
  const Scenario scenario = made(options);
  EXPECT_EQ(scenario.ranks(), 8);
  EXPECT_TRUE(scenario.complete());
  EXPECT_FALSE(scenario.shared());
  EXPECT_EQ(scenario.bytes(0, 7), 100);
}

TEST(Scenario, PairsSayWhoSends) {
  Options options;
  options.size = 100;
  options.hosts = {{"h3", "h5"}};
  options.pairs = {{{"h5", "h3"}}};
  const Scenario scenario = made(options);
  EXPECT_THAT(scenario.hosts, ElementsAre(base::HostId{3}, base::HostId{5}));
  EXPECT_EQ(scenario.bytes(1, 0), 100);
  EXPECT_EQ(scenario.bytes(0, 1), 0);
}

TEST(Scenario, StagesAddUpToWhatAPairSends) {
  Options options;
  options.steps = {{{{0, 1, 10}, {1, 0, 3}}, {{0, 1, 5}}}};
  const Scenario scenario = made(options);
  EXPECT_EQ(scenario.bytes_in(0, 1, 0), 3);
  EXPECT_EQ(scenario.bytes_in(1, 1, 0), 0);
  EXPECT_EQ(scenario.bytes(0, 1), 15);
}

TEST(Scenario, JobsThatSplitTheHostsTakeThemInTurn) {
  Options options;
  options.jobs = 2;
  options.job_layout = "split";
  const Scenario scenario = made(options);
  EXPECT_TRUE(scenario.shared());
  EXPECT_THAT(of_job(scenario, 1).hosts,
              ElementsAre(base::HostId{1}, base::HostId{3}, base::HostId{5}, base::HostId{7}));
}

TEST(Scenario, TheNetworkIsThatOfTheOptions) {
  Options options;
  options.overheads_ns.u_r = 2;
  options.overheads_ns.o_r = 3;
  options.datagram_bytes = 1000;
  options.modules.push_back({"leaf0", "core", {.both_ways_mbit_s = 150}});
  const Scenario scenario = made(options);
  EXPECT_EQ(scenario.network.costs.receive, 5);
  EXPECT_EQ(scenario.network.frame_bytes, 1000 + 28 + 14);
  ASSERT_EQ(scenario.network.modules.size(), 1);
  EXPECT_EQ(scenario.network.modules[0].both_ways_mbit_s, 150);
}

TEST(Scenario, OptionsThatContradictEachOtherAreRefused) {
  const auto with = [](auto change) {
    Options options;
    change(options);
    return refusal_of(options);
  };
  EXPECT_THAT(with([](Options& o) { o.hosts = {{"h9"}}; }), HasSubstr("has no host `h9`"));
  EXPECT_THAT(with([](Options& o) {
                o.matrix = {{{1, 2}, {3, 4}}};
              }),
              HasSubstr("2 rows, one of 2 numbers; expected 8 of 8"));
  EXPECT_THAT(with([](Options& o) {
                o.pairs = {{{"h0", "h1"}}};
                o.ranks_per_host = 2;
              }),
              HasSubstr("`pairs` needs one rank per host"));
  EXPECT_THAT(with([](Options& o) { o.steps.emplace(); }), HasSubstr("`steps` is no list"));
  EXPECT_THAT(with([](Options& o) {
                o.steps = {{{{0, 0, 1}}}};
              }),
              HasSubstr("step 0 has no [from, to, bytes] of two of 8 ranks"));
  EXPECT_THAT(with([](Options& o) {
                o.steps = {{{{0, 1, 1}}}};
                o.steps_together = false;
              }),
              HasSubstr("needs `steps` (or a pattern) and transport=messages"));
  EXPECT_THAT(with([](Options& o) { o.lmc = 2; }), HasSubstr("are of routing=lid"));
  EXPECT_THAT(with([](Options& o) { o.routing = routing::Rule::kGiven; }),
              HasSubstr("`routes` and routing=given belong together"));
  EXPECT_THAT(with([](Options& o) { o.card_mbit_s = 5; }), HasSubstr("half_duplex"));
  EXPECT_THAT(with([](Options& o) { o.card_packets = 5; }), HasSubstr("back-pressure"));
  EXPECT_THAT(with([](Options& o) {
                o.jitter = "pause";
                o.jitter_us = 1;
              }),
              HasSubstr("needs jitter_interval_us"));
  EXPECT_THAT(with([](Options& o) {
                o.paths = 2;
                o.reliability = transport::Reliability::kGoBackN;
              }),
              HasSubstr("several paths need reliability selective-repeat"));
  EXPECT_THAT(with([](Options& o) { o.datagram_bytes = 20; }), HasSubstr("expected 128 to 65507"));
  EXPECT_THAT(with([](Options& o) {
                o.background.push_back({"h0", "h0"});
              }),
              HasSubstr("background[0]: a flow needs two hosts"));
  EXPECT_THAT(with([](Options& o) {
                o.jobs = 5;
                o.job_layout = "split";
              }),
              HasSubstr("8 hosts cannot be split among 5 jobs"));
}

}  // namespace
}  // namespace alm::scenario
