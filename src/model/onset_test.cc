#include "model/onset.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace alm::model {
namespace {

std::optional<std::uint32_t> onset_of(const std::string& name, bool in_turn = true) {
  const auto cluster =
      topology::load_cluster(std::string(ALM_SOURCE_DIR) + "/clusters/" + name + ".toml").value();
  std::vector<base::HostId> hosts;
  for (std::uint32_t i = 0; i < cluster.host_count(); ++i) {
    hosts.push_back({in_turn ? i : i % 4 * 8 + i / 4});
  }
  return saturation_onset(cluster, hosts);
}

// A full leaf of 8 sends 8 (p - 8) messages over 500 Mbit/s, a host p - 1 over 100: from 20 on.
TEST(Onset, OfTheOversubscribedClusterWithLeavesFilledInTurn) {
  EXPECT_EQ(onset_of("oversubscribed-8x4"), 20u);
}

TEST(Onset, NeverWhereUplinksCarryAll) {
  EXPECT_FALSE(onset_of("tam-8x4"));
  EXPECT_FALSE(onset_of("tam-16x1"));
}

// Leaves filled in turns have n / 4 hosts each: (n/4) (3n/4) / 500 > (n - 1) / 100 from 26 on.
TEST(Onset, ComesLaterWhereHostsAreSpread) {
  const auto spread = onset_of("oversubscribed-8x4", false);
  ASSERT_TRUE(spread);
  EXPECT_GT(*spread, 20u);
}

}  // namespace
}  // namespace alm::model
