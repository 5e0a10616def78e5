#include "job/alike_links.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <map>

namespace alm::job {
namespace {

InterfaceAddress in_24(const std::string& text) {
  InterfaceAddress address{.family = AF_INET, .prefix_bits = 24};
  EXPECT_EQ(inet_pton(AF_INET, text.c_str(), address.bytes.data()), 1);
  return address;
}

// A rank of a host of its own.
JobRecord rank_with(const std::vector<std::string>& addresses, std::uint8_t fast) {
  static std::uint32_t machine = 0;
  JobRecord record;
  record.machine = ++machine;
  record.address_count = static_cast<std::uint32_t>(addresses.size());
  for (std::size_t i = 0; i < addresses.size(); ++i) record.addresses[i] = in_24(addresses[i]);
  record.fast_addresses = fast;
  return record;
}

std::vector<std::string> links_of(const std::vector<JobRecord>& records, std::uint32_t rank) {
  std::vector<std::string> texts;
  for (const auto& address : alike_links(records, rank)) texts.push_back(to_string(address));
  return texts;
}

TEST(AlikeLinks, TheFastestDevicesCountOnceEach) {
  const std::vector addresses{in_24("10.0.0.1"), in_24("10.1.0.1"), in_24("10.2.0.1"),
                              in_24("10.3.0.1"), in_24("10.4.0.1")};
  std::map<std::string, LinkDevice> devices{{"10.0.0.1", {"mgmt", 1000}},
                                            {"10.1.0.1", {"a", 25000}},
                                            {"10.2.0.1", {"b", 25000}},
                                            {"10.3.0.1", {"b", 25000}},  // a second address of b
                                            {"10.4.0.1", {"docker0", 0}}};
  const auto of = [&](const InterfaceAddress& address) { return devices[to_string(address)]; };
  EXPECT_EQ(fastest_devices(addresses, of), 0b00110);
  for (auto& [address, device] : devices) device.mbit_s = 0;
  EXPECT_EQ(fastest_devices(addresses, of), 0) << "nobody knows how fast they are";
}

TEST(AlikeLinks, EveryRankListsTheSameSubnetsInTheSameOrder) {
  const std::vector<JobRecord> records{rank_with({"192.168.0.1", "10.1.0.1", "10.2.0.1"}, 0b110),
                                       rank_with({"10.2.0.2", "192.168.0.2", "10.1.0.2"}, 0b101),
                                       rank_with({"10.1.0.3", "10.2.0.3"}, 0b11)};
  EXPECT_EQ(links_of(records, 0), (std::vector<std::string>{"10.1.0.1", "10.2.0.1"}));
  EXPECT_EQ(links_of(records, 1), (std::vector<std::string>{"10.1.0.2", "10.2.0.2"}));
  EXPECT_EQ(links_of(records, 2), (std::vector<std::string>{"10.1.0.3", "10.2.0.3"}));
}

TEST(AlikeLinks, ASubnetThatOneHostLacksOrIsSlowInIsLeftOut) {
  const auto first = rank_with({"10.1.0.1", "10.2.0.1", "10.3.0.1"}, 0b111);
  const std::vector<JobRecord> lacking{first, rank_with({"10.1.0.2", "10.3.0.2"}, 0b11)};
  EXPECT_EQ(links_of(lacking, 0), (std::vector<std::string>{"10.1.0.1", "10.3.0.1"}));
  const std::vector<JobRecord> slow{first, rank_with({"10.1.0.2", "10.2.0.2", "10.3.0.2"}, 0b101)};
  EXPECT_EQ(links_of(slow, 1), (std::vector<std::string>{"10.1.0.2", "10.3.0.2"}));
}

TEST(AlikeLinks, AnAddressThatHostsHaveInCommonReachesNobody) {
  const std::vector<JobRecord> records{rank_with({"10.1.0.1", "169.254.0.1"}, 0b11),
                                       rank_with({"10.1.0.2", "169.254.0.1"}, 0b11)};
  EXPECT_EQ(links_of(records, 0), std::vector<std::string>{"10.1.0.1"});
}

TEST(AlikeLinks, RanksOfOneHostHaveItsAddresses) {
  const auto first = rank_with({"10.1.0.1", "10.2.0.1"}, 0b11);
  const std::vector<JobRecord> records{first, first, rank_with({"10.1.0.2", "10.2.0.2"}, 0b11)};
  EXPECT_EQ(links_of(records, 1), (std::vector<std::string>{"10.1.0.1", "10.2.0.1"}));
}

}  // namespace
}  // namespace alm::job
