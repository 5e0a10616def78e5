#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "routing/routes.h"
#include "topology/generate.h"

namespace alm::routing {
namespace {

using ::testing::HasSubstr;
using topology::Cluster;

Routes lids(const Cluster& cluster, std::uint32_t lmc, LidEngine engine = LidEngine::kMinHop) {
  auto made = Routes::make(cluster, Rule::kLid,
                           {.lmc = lmc, .lid_engine = engine, .lid_ports = {}, .dead = {}});
  EXPECT_TRUE(made.ok()) << (made ? "" : made.error().message);
  return made ? std::move(made).value() : Routes{};
}

Cluster ib_144() { return topology::generate("ib-144").value(); }

// The port between leaf and spine of a path between two leaves.
std::uint32_t trunk(const Routes& routes, std::uint32_t from, std::uint32_t to, std::uint32_t lid) {
  return routes.path(from, to, lid)[1];
}

// 004: 12 leaves and 12 spines. With 2^lmc numbers per host, each by the port that fewest use, the
// numbers of host h begin at spine 2^lmc h mod 12. Twelve hosts of a leaf whose offset 0 goes to
// those of the next: one flow per spine up to LMC 0; from LMC 2 on three spines with four each.
TEST(Lids, StripesOfNumbersMeetAtFewSpines) {
  const Cluster cluster = ib_144();
  for (const auto& [lmc, spines, flows] : std::vector<std::array<std::uint32_t, 3>>{
           {0, 12, 1}, {1, 6, 2}, {2, 3, 4}, {3, 3, 4}, {4, 3, 4}}) {
    const Routes routes = lids(cluster, lmc);
    std::map<std::uint32_t, std::uint32_t> load;
    for (std::uint32_t host = 0; host < 12; ++host) ++load[trunk(routes, host, host + 12, 0)];
    EXPECT_EQ(load.size(), spines) << "LMC " << lmc;
    for (const auto& [port, count] : load) EXPECT_EQ(count, flows) << "LMC " << lmc;
  }
}

TEST(Lids, SixteenNumbersReachAllTwelveSpines) {
  const Cluster cluster = ib_144();
  const Routes routes = lids(cluster, 4);
  std::map<std::uint32_t, int> load;
  for (std::uint32_t lid = 0; lid < 16; ++lid) ++load[trunk(routes, 0, 143, lid)];
  EXPECT_EQ(load.size(), 12u);
  EXPECT_EQ(routes.path_count(0, 143), 16u);
  EXPECT_EQ(routes.path(0, 143, 16), routes.path(0, 143, 0));
}

TEST(Lids, BothEnginesAgreeWhereShortestPathsGoUpAndDown) {
  const Cluster cluster = ib_144();
  for (const std::uint32_t lmc : {0u, 2u}) {
    const Routes a = lids(cluster, lmc), b = lids(cluster, lmc, LidEngine::kUpDown);
    EXPECT_TRUE(std::equal(a.lid_ports().begin(), a.lid_ports().end(), b.lid_ports().begin()));
  }
}

TEST(Lids, TablesFromOutsideAreTakenOrRefused) {
  const Cluster cluster = topology::generate("leaf-spine:2x2x2").value();
  const Routes own = lids(cluster, 1);
  Settings settings{.lmc = 1,
                    .lid_engine = {},
                    .lid_ports = {own.lid_ports().begin(), own.lid_ports().end()},
                    .dead = {}};
  EXPECT_TRUE(Routes::make(cluster, Rule::kLid, settings).ok());
  const auto refused = [&](const Settings& bad) {
    const auto made = Routes::make(cluster, Rule::kLid, bad);
    return made ? std::string() : made.error().message;
  };
  Settings bad = settings;
  bad.lid_ports.pop_back();
  EXPECT_THAT(refused(bad), HasSubstr("31 entries; expected 32: 4 switches, 4 hosts, LMC 1"));
  bad = settings;
  bad.lid_ports[0] = bad.lid_ports[31];
  EXPECT_THAT(refused(bad), HasSubstr("switch `leaf0` has no port"));
  // Both leaves send what is for host 0 to a spine: around in a circle.
  bad = settings;
  bad.lid_ports[0] = up_port(4);
  EXPECT_THAT(refused(bad), HasSubstr("number 0 of host `h0` leads from `h0` around in a circle"));
  EXPECT_THAT(refused({.lmc = 8, .lid_engine = {}, .lid_ports = {}, .dead = {}}),
              HasSubstr("an LMC of 8 has no place in a LID"));
}

}  // namespace
}  // namespace alm::routing
