#include "emulate/interfaces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace alm::emulate {
namespace {

TEST(Interfaces, FirstOnesComeFirst) {
  const auto cluster = topology::parse_cluster(R"(
format = 1
name = "rails"
[[switch]]
name = "s[0-1]"
[[host]]
name = "h[0-1]"
links = 2
[[link]]
from = "h[0-1]"
to = "s0"
rate_mbit_s = 100
[[link]]
from = "s1"
to = "h[0-1]"
rate_mbit_s = 200
)",
                                               "test")
                           .value();
  std::vector<std::string> names;
  for (const Interface& interface : interfaces_of(cluster)) names.push_back(device_name(interface));
  EXPECT_THAT(names, testing::ElementsAre("e0.0", "e1.0", "e0.1", "e1.1"));

  const topology::Cluster split = split_hosts(cluster);
  ASSERT_EQ(split.host_count(), 4u);
  ASSERT_EQ(split.links.size(), cluster.links.size());
  std::vector<std::string> ends;
  for (const topology::Link& link : split.links) {
    ends.push_back(split.node_name(link.from) + " " + split.node_name(link.to));
  }
  EXPECT_THAT(ends, testing::ElementsAre("h0 s0", "h1 s0", "s1 h0.1", "s1 h1.1"));
}

}  // namespace
}  // namespace alm::emulate
