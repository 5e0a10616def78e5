#include "meeting/peer_record.h"

#include <gmock/gmock.h>

#include "meeting/hello_exchange.h"

namespace alm::meeting {
namespace {

using ::testing::HasSubstr;

std::vector<PeerRecord> peers(std::vector<std::string> hosts) {
  std::vector<PeerRecord> records(hosts.size());
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    records[rank].key = {rank, rank * rank};
    records[rank].udp = 1;
    records[rank].paths = 1;
    records[rank].family = AF_INET;
    records[rank].address = {198, 18, 0, static_cast<std::uint8_t>(rank)};
    records[rank].ports[0] = static_cast<std::uint16_t>(4000 + rank);
    records[rank].datagram_bytes = 1472;
    job::set_host(records[rank].host, hosts[rank]);
  }
  return records;
}

topology::Cluster cluster(std::vector<std::string> hosts) {
  topology::Cluster cluster;
  for (auto& host : hosts) cluster.hosts.emplace_back().name = std::move(host);
  return cluster;
}

Membership judge(std::vector<std::string> hosts, const topology::Cluster* known) {
  const auto records = peers(std::move(hosts));
  return meeting::judge(records, place(records), known);
}

TEST(Membership, OneRankPerHostIsServed) {
  const auto membership = judge({"a", "b", "c"}, nullptr);
  EXPECT_EQ(membership.refusal, "");
  EXPECT_TRUE(membership.hosts.empty());
}

TEST(Membership, RanksMayComeInAnyOrderOfHosts) {
  const auto known = cluster({"a", "b", "c"});
  const auto membership = judge({"c", "a"}, &known);
  EXPECT_EQ(membership.refusal, "");
  EXPECT_EQ(membership.hosts, (std::vector{base::HostId{2}, base::HostId{0}}));
}

TEST(Membership, HostsCountOnceWhateverTheirRanks) {
  const auto known = cluster({"a", "b", "c"});
  const auto membership = judge({"c", "a", "a", "c"}, &known);
  EXPECT_EQ(membership.refusal, "");
  EXPECT_EQ(membership.hosts, (std::vector{base::HostId{2}, base::HostId{0}}));
}

TEST(Membership, RanksAllOnOneHostAreRefused) {
  EXPECT_EQ(judge({"a", "a", "a"}, nullptr).refusal, "its ranks are all on a");
}

TEST(Membership, LeadersAreTheLowestRanks) {
  const auto records = peers({"b", "a", "a", "b"});
  const auto leaders = leaders_of(records, place(records));
  ASSERT_EQ(leaders.size(), 2u);
  EXPECT_EQ(leaders[0].ports[0], 4000);
  EXPECT_EQ(leaders[1].ports[0], 4001);
}

TEST(Membership, MissingHostsAreNamed) {
  const auto known = cluster({"h0", "h1"});
  EXPECT_THAT(judge({"h0", "h1", "h7", "h8"}, &known).refusal,
              HasSubstr("does not name hosts h[7-8]"));
}

TEST(Membership, TheObstacleNamesItsHost) {
  auto records = peers({"a", "b"});
  EXPECT_EQ(udp_obstacle(records), "");
  records[1].udp = 0;
  set_cause(records[1], "no sockets today");
  EXPECT_EQ(udp_obstacle(records), "b: no sockets today");
}

TEST(Membership, TheKeyNeedsEveryContribution) {
  const auto records = peers({"a", "b", "c"});
  auto other = records;
  other[2].key[1] ^= 1;
  EXPECT_EQ(common_key(records), common_key(peers({"x", "y", "z"})));
  EXPECT_NE(common_key(records), common_key(other));
}

TEST(Membership, TheSmallestDatagramCounts) {
  auto records = peers({"a", "b"});
  records[1].datagram_bytes = 1400;
  EXPECT_EQ(common_datagram_bytes(records), 1400u);
}

TEST(Membership, AddressesComeBack) {
  const auto addresses = addresses_of(peers({"a", "b"})[1]);
  ASSERT_TRUE(addresses);
  ASSERT_EQ(addresses.value().size(), 1u);
  EXPECT_THAT(io::to_string(addresses.value()[0]), HasSubstr("198.18.0.1"));
  EXPECT_THAT(io::to_string(addresses.value()[0]), HasSubstr("4001"));
}

TEST(Membership, AddressesOfSeveralLinksComeBack) {
  io::EndpointOptions options;
  options.local_address = "127.0.0.1";
  options.further_addresses = {"127.0.0.2"};
  options.paths = 4;
  const auto endpoint = io::Endpoint::open(options).value();
  PeerRecord record;
  set_addresses(record, *endpoint, 4, 2);
  const auto addresses = addresses_of(record).value();
  ASSERT_EQ(addresses.size(), 4u);
  for (std::uint32_t path = 0; path < 4; ++path) {
    EXPECT_EQ(io::to_string(addresses[path]), io::to_string(endpoint->local(path)));
  }
}

TEST(Hello, ShowsWhoIsMissing) {
  constexpr std::uint32_t kRanks = 4;
  std::vector<HelloBuffers> hello;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) hello.push_back(make_hello(kRanks, rank, 50));
  for (std::uint32_t from : {0u, 1u, 3u}) {
    std::copy_n(hello[from].send.begin() + 2 * 50, 50, hello[2].recv.begin() + from * 50);
  }
  EXPECT_TRUE(missing_hellos(hello[2], 2).empty());
  hello[2].recv[3 * 50 + 49] ^= std::byte{1};
  EXPECT_EQ(missing_hellos(hello[2], 2), std::vector<std::uint32_t>{3});
}

TEST(Hello, TheMinimumOfOutcomesNamesAPair) {
  EXPECT_FALSE(hello_gap(kHelloComplete));
  const std::vector<std::uint32_t> missing{3, 5};
  const auto gap = hello_gap(std::min(hello_outcome(2, missing), kHelloComplete));
  ASSERT_TRUE(gap);
  EXPECT_EQ(gap->receiver, 2u);
  EXPECT_EQ(gap->sender, 3u);
}

TEST(Membership, SocketWarningsBecomeOne) {
  std::vector<PeerRecord> records(4);
  for (std::size_t i = 0; i < records.size(); ++i)
    job::set_host(records[i].host, "h" + std::to_string(i));
  EXPECT_EQ(socket_warning(records), "");
  set_cause(records[2], "small buffer");
  EXPECT_EQ(socket_warning(records), "h2: small buffer");
  set_cause(records[1], "small buffer");
  EXPECT_EQ(socket_warning(records), "h1 (and on 1 other host): small buffer");
}

TEST(Membership, LeavesAreThoseThatEveryHostNames) {
  auto records = peers({"h0", "h1", "h2"});
  EXPECT_TRUE(leaves_told(records).empty());
  records[0].leaf = records[2].leaf = 7;
  EXPECT_TRUE(leaves_told(records).empty());
  records[1].leaf = 8;
  EXPECT_EQ(leaves_told(records), (plan::LeafOf{{0, 1, 0}, {0, 0, 0}}));
  records[1].leaf = 7;
  EXPECT_TRUE(leaves_told(records).empty());
}

TEST(Membership, MachinesTellHostsOfOneNameApart) {
  auto records = peers({"worker", "worker", "worker"});
  records[0].machine = records[2].machine = 7;
  records[1].machine = 8;
  const auto placement = place(records);
  EXPECT_EQ(placement.hosts(), 2u);
  EXPECT_EQ(placement.host_of, (std::vector<std::uint32_t>{0, 1, 0}));
  EXPECT_EQ(judge(records, placement, nullptr).refusal, "");
}

// As containers on one host do.
TEST(Membership, MachinesOfOneNameMayBeOneHostOfTheClusterFile) {
  auto records = peers({"h0", "h0", "h1"});
  records[0].machine = 7;
  records[1].machine = 8;
  records[2].machine = 9;
  const auto known = cluster({"h0", "h1"});
  const auto placement = place(records);
  EXPECT_EQ(placement.hosts(), 3u);
  const auto membership = judge(records, placement, &known);
  EXPECT_EQ(membership.refusal, "");
  EXPECT_EQ(membership.hosts, (std::vector{base::HostId{0}, base::HostId{0}, base::HostId{1}}));
}

TEST(Membership, RanksMayShareAHostWhereEachHasAnEndpoint) {
  const auto records = peers({"a", "a", "a"});
  const auto placement = place(records, true);
  EXPECT_EQ(placement.hosts(), 3u);
  EXPECT_EQ(judge(records, placement, nullptr).refusal, "");
  EXPECT_NE(judge(records, place(records), nullptr).refusal, "");
}

}  // namespace
}  // namespace alm::meeting
