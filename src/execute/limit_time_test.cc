#include <gtest/gtest.h>

#include <vector>

#include "execute/configuration.h"
#include "topology/cluster.h"

namespace alm::execute {
namespace {

// Of full frames, where nothing tells of another network.
double limit_time(const topology::Cluster& cluster) {
  std::vector<base::HostId> hosts;
  for (std::uint32_t host = 0; host < cluster.host_count(); ++host) hosts.push_back({host});
  transport::Config config;
  set_limit_time(config, cluster, hosts);
  return static_cast<double>(config.limit_time);
}

TEST(LimitTime, OnOneSwitchIsThatOfTheHostLink) {
  const auto cluster = topology::build_one_switch(8);
  EXPECT_NEAR(limit_time(cluster), 121'120, 10);
}

// 24 of 31 packets leave their leaf of 8 hosts: 8 * 24 / 31 frames of 24.2 us.
TEST(LimitTime, IsThatOfAnUplinkThatIsTooNarrow) {
  const auto cluster = topology::build_tree({.groups = {8, 8, 8, 8}, .uplink_mbit_s = 500});
  EXPECT_NEAR(limit_time(cluster), 8 * 24.0 / 31 * 24'224, 10);
}

TEST(LimitTime, OneHostHasNone) { EXPECT_EQ(limit_time(topology::build_one_switch(1)), 0); }

}  // namespace
}  // namespace alm::execute
