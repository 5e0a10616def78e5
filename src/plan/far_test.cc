#include "plan/far.h"

#include <gtest/gtest.h>

#include <string>

namespace alm::plan {
namespace {

class Far : public testing::Test {
 protected:
  // The sites of a cluster with a host for every rank.
  void load(const std::string& name) {
    auto loaded =
        topology::load_cluster(std::string(ALM_SOURCE_DIR) + "/clusters/" + name + ".toml");
    ASSERT_TRUE(loaded.ok());
    cluster_ = std::move(loaded).value();
    for (std::uint32_t host = 0; host < cluster_.host_count(); ++host) hosts_.push_back({host});
    request_.ranks = cluster_.host_count();
    request_.algorithm = Algorithm::kMultiSite;
    request_.site_of = topology::sites(cluster_).of;
  }
  FarTuning tuned(std::uint32_t rank) {
    request_.self = {rank};
    const auto plan = make_plan(request_).value();
    const FarTuner tuner(cluster_, hosts_, request_.site_of);
    return tuner.tune(plan.phases.front(), tuner.equal_load(plan.phases.front()));
  }

  topology::Cluster cluster_;
  std::vector<base::HostId> hosts_;
  Request request_;
};

constexpr double kFrameUs = 12.112;  // at 1 Gbit/s

TEST_F(Far, ThirtyHostsShareTenHostLinks) {
  load("grid-30-30");
  const FarTuning tuning = tuned(3);
  EXPECT_NEAR(tuning.pace_us, 3 * kFrameUs * 1.015, 0.01);
  EXPECT_DOUBLE_EQ(tuning.round_trip_us, 10'000);
  EXPECT_EQ(tuning.burst_packets, 6u);  // a quarter of 820 for all 30
  EXPECT_GT(tuning.window_packets, 10'000 / tuning.pace_us);
}

// 20 hosts send as much as 10.
TEST_F(Far, TheLargerSiteSendsMoreSlowly) {
  load("grid-10-20");
  EXPECT_NEAR(tuned(0).pace_us * 2, tuned(29).pace_us, 0.01);
}

TEST_F(Far, NoFasterThanTheLinkOfTheHost) {
  load("grid-30-30");
  for (topology::Link& link : cluster_.links) {
    if (link.latency_us > 0) link.rate_up_mbit_s = link.rate_down_mbit_s = 1e6;
  }
  // A host sends 30 of 59 blocks to the other site.
  EXPECT_NEAR(tuned(0).pace_us, kFrameUs * 59 / 30 * 1.015, 0.01);
  FarLoad light{1e-9, 1514};
  request_.self = {0};
  const auto plan = make_plan(request_).value();
  EXPECT_NEAR(FarTuner(cluster_, hosts_, request_.site_of).tune(plan.phases.front(), light).pace_us,
              kFrameUs, 0.001);
}

TEST_F(Far, WithinASiteItsOwnPortsCount) {
  load("grid-30-30");
  request_.self = {0};
  const auto plan = make_plan(request_).value();
  EXPECT_EQ(tune_near(cluster_, hosts_, plan.phases.back()).window_packets, 45u);
}

}  // namespace
}  // namespace alm::plan
