#include "tuning/own_ways.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "plan/multi_site.h"
#include "topology/cluster.h"
#include "topology/find_hosts.h"

namespace alm::tuning {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

// Hosts below two leaves. `sites`: each leaf is a site, and the link between them is thin and far.
topology::Cluster make_cluster(std::uint32_t mtu_bytes, bool sites) {
  std::string text =
      "format = 1\nname = \"two\"\n[framing]\nmtu_bytes = " + std::to_string(mtu_bytes) + "\n";
  for (const char* name : {"a", "b"}) {
    text += std::string("[[switch]]\nname = \"") + name + "\"\n";
    if (sites) text += std::string("site = \"") + name + "\"\n";
  }
  const std::string queues = "queue_up_packets = 200\nqueue_down_packets = 200\n";
  text += "[[host]]\nname = \"h[0-15]\"\n";
  text += "[[link]]\nfrom = \"h[0-7]\"\nto = \"a\"\nrate_mbit_s = 1000\n" + queues;
  text += "[[link]]\nfrom = \"h[8-15]\"\nto = \"b\"\nrate_mbit_s = 1000\n" + queues;
  text += "[[link]]\nfrom = \"a\"\nto = \"b\"\nrate_mbit_s = 1000\n" + queues;
  if (sites) text += "latency_us = 5000\n";
  return topology::parse_cluster(text, "test").value();
}

std::string first_key(const topology::Cluster& cluster, std::uint64_t bytes) {
  const OwnWays ways = usual_ways(cluster, topology::all_hosts(cluster)).value();
  return ways.key_of(ways.first(bytes));
}

TEST(OwnWays, SmallBlocksAreCombinedAndLargeOnesGoInRounds) {
  const auto cluster = make_cluster(1500, false);
  EXPECT_THAT(first_key(cluster, 8), StartsWith("udp grid:"));
  EXPECT_EQ(first_key(cluster, 100'000), "udp sync-shuffle@balanced");
}

TEST(OwnWays, LargerPacketsHoldLargerBlocks) {
  constexpr std::uint64_t kBytes =
      400;  // four of them are more than a packet of 1448, or less than one of 8948
  EXPECT_EQ(first_key(make_cluster(1500, false), kBytes), "udp sync-shuffle@balanced");
  EXPECT_THAT(first_key(make_cluster(9000, false), kBytes), StartsWith("udp grid:"));
}

TEST(OwnWays, BetweenSitesTheForecastChooses) {
  const auto cluster = make_cluster(1500, true);
  const OwnWays ways = usual_ways(cluster, topology::all_hosts(cluster)).value();
  EXPECT_TRUE(ways.know_sites());
  EXPECT_TRUE(ways.has_forecast());
  EXPECT_FALSE(ways.rests_on_profile());
  EXPECT_THAT(ways.key_of(*ways.any_size_between_sites()), StartsWith("udp multi-site"));
  for (const std::uint64_t bytes : {1, 1000, 100'000}) {
    const Way first = ways.first(bytes);
    const Foreseen least = ways.foreseen(ways.key_of(first), bytes);
    EXPECT_TRUE(least.known());
    for (std::size_t i = 0; i < ways.phased().size(); ++i) {
      const Foreseen one = ways.foreseen(ways.key_of(phased_way(i)), bytes);
      EXPECT_LE(least.time, one.time) << ways.phased()[i].identity << ", " << bytes;
    }
  }
}

TEST(OwnWays, AWayThatIsNamedIsTakenBetweenSites) {
  const auto cluster = make_cluster(1500, true);
  const auto hosts = topology::all_hosts(cluster);
  OwnWaysWanted wanted{.hosts = 16,
                       .leaves = topology::schedule_hierarchy(cluster).of(hosts),
                       .sites = sites_of(cluster, hosts),
                       .combines = false,
                       .between_sites = plan::Algorithm::kCoordinator};
  const OwnWays coordinators = OwnWays::make(wanted).value();
  EXPECT_EQ(coordinators.key_of(coordinators.first(8)), "udp coordinator");
  EXPECT_EQ(coordinators.any_size_between_sites(), std::nullopt);
  wanted.between_sites = plan::Algorithm::kMultiSite;
  OwnWays ways = OwnWays::make(wanted).value();
  ways.fit(1448);
  EXPECT_EQ(ways.key_of(ways.first(8)), "udp multi-site-combined");
  EXPECT_THAT(ways.key_of(ways.first(100'000)), StartsWith("udp multi-site@"));
}

TEST(OwnWays, AlwaysCombiningIsDoneWhereverItCanBe) {
  OwnWaysWanted wanted{.hosts = 16, .always_combines = true};
  OwnWays ways = OwnWays::make(wanted).value();
  ways.fit(1448);
  EXPECT_EQ(ways.first(1'000'000).kind, Way::Kind::kPhased);
  EXPECT_EQ(ways.first(1'000'000, false), Way{});
  EXPECT_EQ(ways.first(1'000'000, false, kSharedWay), kSharedWay);
}

TEST(OwnWays, NoPacketSizeNeedsMorePhasesThanAreToldBefore) {
  for (const std::uint32_t hosts : {2, 7, 16, 30, 64, 100}) {
    OwnWays ways = OwnWays::make({.hosts = hosts}).value();
    for (const std::uint32_t packet : {100, 1208, 1448, 8948, 65000}) {
      for (const bool all : {false, true}) {
        ways.fit(packet, all);
        std::size_t phases = 0;
        for (const plan::Plan& plan : ways.phased()) phases += plan.phases.size();
        EXPECT_LE(phases, ways.phases_max()) << hosts << " hosts, " << packet;
      }
    }
  }
}

TEST(NamedWays, HaveWhatTheLibraryMayTake) {
  for (const bool sites : {false, true}) {
    const auto cluster = make_cluster(1500, sites);
    const auto hosts = topology::all_hosts(cluster);
    const auto told = named_ways(cluster, hosts);
    ASSERT_TRUE(told) << told.error().message;
    const auto& named = told.value();
    const OwnWays ways = usual_ways(cluster, hosts).value();
    const auto has = [&](const std::string& key) {
      return std::any_of(named.begin(), named.end(),
                         [&](const NamedWay& way) { return way.key == key; });
    };
    EXPECT_TRUE(has(ways.key_of({})));
    for (std::size_t i = 0; i < ways.phased().size(); ++i) {
      EXPECT_TRUE(has(ways.key_of(phased_way(i)))) << ways.phased()[i].identity;
    }
  }
}

TEST(NamedWays, AnAlgorithmMeansOneWayForEachSize) {
  const auto cluster = make_cluster(1500, true);
  const auto named = named_ways(cluster, topology::all_hosts(cluster)).value();
  for (const std::uint64_t bytes : {1, 100, 1000, 100'000}) {
    EXPECT_EQ(std::count_if(named.begin(), named.end(),
                            [&](const NamedWay& way) {
                              return way.algorithm == "multi-site" && way.takes(bytes);
                            }),
              1);
  }
}

}  // namespace
}  // namespace alm::tuning
