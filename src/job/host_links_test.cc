#include "job/host_links.h"

#include <gmock/gmock.h>

#include <string>

#include "job/networks.h"
#include "topology/find_hosts.h"

namespace alm::job {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Two hosts with a link to each of three switches, named or not.
topology::Cluster cluster(const std::string& interfaces, const std::string& last_rates) {
  const std::string text = R"(format = 1
name = "net"
[[switch]]
name = "slow,fast,mixed"
[[host]]
name = "h[0-1]"
links = 3
interface = )" + interfaces +
                           R"(
[[link]]
from = "h[0-1]"
to = "slow"
rate_mbit_s = 10
queue_down_packets = 40
[[link]]
from = "h[0-1]"
to = "fast"
rate_mbit_s = 100
queue_down_packets = 40
[[link]]
from = "h0"
to = "mixed"
rate_mbit_s = 1000
queue_down_packets = 40
[[link]]
from = "h1"
to = "mixed"
rate_mbit_s = )" + last_rates +
                           R"(
queue_down_packets = 40
[[link]]
from = "slow"
to = "fast"
rate_mbit_s = 100
queue_up_packets = 40
queue_down_packets = 40
[[link]]
from = "fast"
to = "mixed"
rate_mbit_s = 100
queue_up_packets = 40
queue_down_packets = 40
)";
  return topology::parse_cluster(text, "net.toml").value();
}

TEST(HostLinks, WhatTheFileSaysOfLinksInUse) {
  const topology::Cluster given = cluster(R"(["eth0", "eth1", "eth2"])", "20");
  EXPECT_EQ(claim_of(given, {0}, 1, 1).mbit_s, 100);
  EXPECT_EQ(claim_of(given, {0}, 1, 1).line, 17u);
  EXPECT_EQ(claim_of(given, {1}, 0, 2).mbit_s, 110);
  EXPECT_EQ(claim_of(given, {1}, 2, 1).mbit_s, 20);
}

TEST(HostLinks, WhereNothingIsNamedThereIsNoInterface) {
  topology::Cluster given = cluster(R"(["eth0", "eth1", "eth2"])", "20");
  for (topology::Host& host : given.hosts) {
    host.interface.clear();
    host.further.clear();
  }
  EXPECT_TRUE(nic_of(given.hosts[0], 1).interface.empty());
}

constexpr base::HostId kBoth[] = {{0}, {1}};

TEST(RankedLinks, TheFastestThatAllHostsHaveIsFirst) {
  const std::string named = R"(["eth0", "eth1", "eth2"])";
  EXPECT_THAT(ranked_links(cluster(named, "20"), kBoth), ElementsAre(1, 2, 0));
  EXPECT_THAT(ranked_links(cluster(named, "200"), kBoth), ElementsAre(2, 1, 0));
  EXPECT_THAT(ranked_links(cluster(named, "20"), std::span(kBoth).first(1)), ElementsAre(2, 1, 0));
}

TEST(RankedLinks, WhereNothingIsNamedThereAreNone) {
  topology::Cluster given = cluster(R"(["eth0", "eth1", "eth2"])", "20");
  for (topology::Host& host : given.hosts) {
    host.interface.clear();
    host.further.clear();
  }
  EXPECT_THAT(ranked_links(given, kBoth), IsEmpty());
}

TEST(FindHost, ShortAndFullNamesAreTheSameHost) {
  topology::Cluster known;
  for (const char* host : {"a.example.org", "b"}) known.hosts.emplace_back().name = host;
  EXPECT_EQ(find_host(known, "a"), base::HostId{0});
  EXPECT_EQ(find_host(known, "b.example.org"), base::HostId{1});
  EXPECT_EQ(find_host(known, "c"), std::nullopt);
}

}  // namespace
}  // namespace alm::job
