#include "job/local_addresses.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

namespace alm::job {
namespace {

InterfaceAddress v4(const char* text, int prefix) {
  InterfaceAddress address{.family = AF_INET, .prefix_bits = static_cast<std::uint8_t>(prefix)};
  EXPECT_EQ(inet_pton(AF_INET, text, address.bytes.data()), 1);
  return address;
}

InterfaceAddress v6(const char* text, int prefix) {
  InterfaceAddress address{.family = AF_INET6, .prefix_bits = static_cast<std::uint8_t>(prefix)};
  EXPECT_EQ(inet_pton(AF_INET6, text, address.bytes.data()), 1);
  return address;
}

TEST(LocalAddresses, SubnetsCompareByPrefix) {
  EXPECT_TRUE(same_subnet(v4("10.0.0.1", 24), v4("10.0.0.200", 24)));
  EXPECT_FALSE(same_subnet(v4("10.0.0.1", 25), v4("10.0.0.200", 25)));
  EXPECT_TRUE(same_subnet(v4("10.0.1.1", 23), v4("10.0.0.1", 23)));
  EXPECT_FALSE(same_subnet(v4("10.0.0.1", 24), v4("10.0.0.2", 16)));
  EXPECT_TRUE(same_subnet(v6("fd00::1", 64), v6("fd00::2", 64)));
  EXPECT_FALSE(same_subnet(v6("fd00::1", 64), v4("10.0.0.1", 8)));
}

TEST(LocalAddresses, TextIsNumeric) {
  EXPECT_EQ(to_string(v4("198.18.0.7", 15)), "198.18.0.7");
  EXPECT_EQ(to_string(v6("fd00::7", 64)), "fd00::7");
}

TEST(LocalAddresses, LoopbackIsNeverOffered) {
  for (const auto& address : interface_addresses()) {
    EXPECT_NE(to_string(address).substr(0, 4), "127.");
    EXPECT_NE(to_string(address), "::1");
  }
}

}  // namespace
}  // namespace alm::job
