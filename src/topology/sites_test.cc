#include <gtest/gtest.h>

#include <string>

#include "topology/cluster.h"

namespace alm::topology {
namespace {

Cluster must_parse(const std::string& text) {
  auto cluster = parse_cluster(text, "c.toml");
  EXPECT_TRUE(cluster.ok()) << (cluster ? "" : cluster.error().message);
  return cluster ? std::move(cluster).value() : Cluster{};
}

// Two leaves at rennes, one at nancy, each joined to a core without a site.
const std::string kThreeLeaves = R"(
format = 1
name = "g"
[[switch]]
name = "r[0-1]"
site = "rennes"
[[switch]]
name = "n"
site = "nancy"
[[switch]]
name = "core"
[[host]]
name = "h[0-5]"
[[link]]
from = "h[0-1]"
to = "n"
rate_mbit_s = 100
[[link]]
from = "h[2-3]"
to = "r0"
rate_mbit_s = 100
latency_us = 1
[[link]]
from = "h[4-5]"
to = "r1"
rate_mbit_s = 100
[[link]]
from = "r[0-1]"
to = "core"
rate_mbit_s = 100
latency_us = 2000
[[link]]
from = "n"
to = "core"
rate_mbit_s = 100
latency_us = 3000
)";

TEST(Sites, AHostIsWhereItsSwitchIs) {
  const Sites found = sites(must_parse(kThreeLeaves));
  EXPECT_EQ(found.names, (std::vector<std::string>{"nancy", "rennes"}));
  EXPECT_EQ(found.of, (std::vector<std::uint32_t>{0, 0, 1, 1, 1, 1}));
  EXPECT_TRUE(sites(build_one_switch(3)).of.empty());
}

TEST(Sites, AreWrittenAndReadBack) {
  const Cluster cluster = must_parse(kThreeLeaves);
  EXPECT_EQ(sites(must_parse(to_toml(cluster))).of, sites(cluster).of);
}

TEST(Sites, TheLongestLatencyIsThatOfTheHostsThatTakePart) {
  const Cluster cluster = must_parse(kThreeLeaves);
  std::vector<base::HostId> all;
  for (std::uint32_t host = 0; host < 6; ++host) all.push_back({host});
  EXPECT_NEAR(latency_seconds(cluster, all), 5001e-6, 1e-12);
  const std::vector<base::HostId> rennes = {{2}, {3}, {4}};
  EXPECT_NEAR(latency_seconds(cluster, rennes), 4001e-6, 1e-12);
  const std::vector<base::HostId> one = {{0}};
  EXPECT_EQ(latency_seconds(cluster, one), 0);
  EXPECT_EQ(latency_seconds(build_one_switch(3), one), 0);
}

}  // namespace
}  // namespace alm::topology
