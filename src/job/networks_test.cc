#include "job/networks.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>

#include <string>

namespace alm::job {
namespace {

using Hosts = std::vector<std::vector<InterfaceAddress>>;

InterfaceAddress ip(const char* text, int prefix) {
  InterfaceAddress address{.family = AF_INET, .prefix_bits = static_cast<std::uint8_t>(prefix)};
  EXPECT_EQ(inet_pton(AF_INET, text, address.bytes.data()), 1);
  return address;
}

TEST(CommonSubnets, ThoseThatAllHostsShare) {
  const Hosts hosts{{ip("192.168.7.1", 24), ip("10.0.0.1", 16)},
                    {ip("192.168.9.1", 24), ip("10.0.3.1", 16)},
                    {ip("10.0.4.4", 16)}};
  EXPECT_THAT(common_subnets(hosts, 0), testing::ElementsAre(ip("10.0.0.1", 16)));
  EXPECT_THAT(common_subnets(hosts, 1), testing::ElementsAre(ip("10.0.3.1", 16)));
}

TEST(CommonSubnets, AContainerBridgeReachesNobody) {
  const Hosts hosts{{ip("172.17.0.1", 16), ip("10.0.0.1", 24)},
                    {ip("172.17.0.1", 16), ip("10.0.0.2", 24)},
                    {ip("172.17.42.1", 16), ip("10.0.0.3", 24)}};
  // The third host, whose bridge has an address of its own, finds as many as the others.
  EXPECT_THAT(common_subnets(hosts, 0), testing::ElementsAre(ip("10.0.0.1", 24)));
  EXPECT_THAT(common_subnets(hosts, 2), testing::ElementsAre(ip("10.0.0.3", 24)));
}

TEST(CommonSubnets, AnInterfaceOfBothFamiliesIsOneNetwork) {
  InterfaceAddress mine{.family = AF_INET6, .prefix_bits = 64};
  ASSERT_EQ(inet_pton(AF_INET6, "fd00::1", mine.bytes.data()), 1);
  InterfaceAddress other = mine;
  other.bytes.back() = 2;
  EXPECT_THAT(common_subnets(Hosts{{mine}, {other}}, 0), testing::ElementsAre(mine));
  EXPECT_THAT(common_subnets(Hosts{{mine, ip("10.0.0.1", 24)}, {other, ip("10.0.0.2", 24)}}, 0),
              testing::ElementsAre(ip("10.0.0.1", 24)));
}

TEST(CommonSubnets, RoutedHostsShareNone) {
  EXPECT_THAT(common_subnets(Hosts{{ip("10.0.1.1", 24)}, {ip("10.0.2.1", 24)}}, 0),
              testing::IsEmpty());
}

TEST(CommonSubnets, EveryHostHasThemInTheSameOrder) {
  // Each by falling speed of its own interfaces.
  const Hosts hosts{{ip("10.1.0.1", 24), ip("10.2.0.1", 24), ip("10.3.0.1", 24)},
                    {ip("10.2.0.2", 24), ip("10.3.0.2", 24), ip("10.1.0.2", 24)},
                    {ip("10.2.0.3", 24), ip("10.1.0.3", 24), ip("10.3.0.3", 24)}};
  for (std::size_t self = 0; self < hosts.size(); ++self) {
    const auto found = common_subnets(hosts, self);
    ASSERT_EQ(found.size(), 3u);
    for (std::size_t at = 0; at < found.size(); ++at) {
      const char* expected[] = {"10.2.0.0", "10.1.0.0", "10.3.0.0"};
      EXPECT_TRUE(same_subnet(found[at], ip(expected[at], 24))) << self << " " << at;
    }
  }
}

TEST(CommonSubnets, HostsThatListThemTheOtherWayRoundAgree) {
  const Hosts hosts{{ip("10.1.0.1", 24), ip("10.2.0.1", 24)},
                    {ip("10.2.0.2", 24), ip("10.1.0.2", 24)}};
  EXPECT_THAT(common_subnets(hosts, 0),
              testing::ElementsAre(ip("10.1.0.1", 24), ip("10.2.0.1", 24)));
  EXPECT_THAT(common_subnets(hosts, 1),
              testing::ElementsAre(ip("10.1.0.2", 24), ip("10.2.0.2", 24)));
}

}  // namespace
}  // namespace alm::job
