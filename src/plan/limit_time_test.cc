#include "plan/limit_time.h"

#include <gtest/gtest.h>

#include <numeric>

namespace alm::plan {
namespace {

std::vector<base::HostId> all(const topology::Cluster& cluster) {
  std::vector<base::HostId> hosts;
  for (std::uint32_t host = 0; host < cluster.host_count(); ++host) hosts.push_back({host});
  return hosts;
}

TEST(LimitTime, OnOneSwitchIsThatOfTheHostLink) {
  const auto cluster = topology::build_one_switch(8);
  EXPECT_NEAR(limit_time_us(cluster, all(cluster), 1472), 121.12, 0.01);
}

// 24 of 31 packets leave their leaf of 8 hosts: 8 * 24 / 31 per step, 24.2 us each.
TEST(LimitTime, IsThatOfAnUplinkThatIsTooNarrow) {
  const auto cluster = topology::build_tree({.groups = {8, 8, 8, 8}, .uplink_mbit_s = 500});
  EXPECT_NEAR(limit_time_us(cluster, all(cluster), 1472), 8 * 24.0 / 31 * 24.224, 0.01);
}

TEST(LimitTime, OneHostHasNone) {
  const auto cluster = topology::build_one_switch(2);
  EXPECT_EQ(limit_time_us(cluster, std::vector<base::HostId>{{0}}, 1472), 0);
}

}  // namespace
}  // namespace alm::plan
