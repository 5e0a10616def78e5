#include "base/node_names.h"

#include <gtest/gtest.h>

namespace alm::base {
namespace {

TEST(NodeNames, hold_letters_digits_and_three_signs) {
  for (const char* text : {"h0", "a.b-c_d", "0"}) EXPECT_TRUE(is_node_name(text)) << text;
  for (const char* text : {"", "-h", "h 0", "h/0", "\xc3\xa9"}) {
    EXPECT_FALSE(is_node_name(text)) << text;
  }
  EXPECT_TRUE(is_node_name(std::string(kNodeNameMax, 'x')));
  EXPECT_FALSE(is_node_name(std::string(kNodeNameMax + 1, 'x')));
}

TEST(NodeNames, addresses_are_of_ipv4_or_ipv6) {
  for (const char* text : {"10.0.0.1", "fd00::1", "::ffff:10.0.0.1", "fe80::1%eth0"}) {
    EXPECT_TRUE(is_address(text)) << text;
  }
  for (const char* text :
       {"", "10.0.0.256", "10.0.0", "10.0.0.01", "h0", "fd00::g", "10.0.0.1/8", "10.0.0.1%eth0"}) {
    EXPECT_FALSE(is_address(text)) << text;
  }
}

}  // namespace
}  // namespace alm::base
