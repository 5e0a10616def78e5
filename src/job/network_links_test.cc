#include "job/network_links.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace alm::job {
namespace {

class NetworkLinks : public testing::Test {
 protected:
  void SetUp() override {
    std::string made = testing::TempDir() + "linksXXXXXX";
    folder_ = mkdtemp(made.data());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void say(const std::string& interface, const std::string& file, const std::string& text) {
    std::filesystem::create_directories(folder_ + "/" + interface);
    std::ofstream(folder_ + "/" + interface + "/" + file) << text;
  }

  std::string folder_;
};

TEST_F(NetworkLinks, EveryAddressHasItsInterfaceWithSpeedAndMtu) {
  for (const NetworkLink& link : network_links()) {
    say(link.interface, "speed", "25000\n");
    say(link.interface, "mtu", "9000\n");
  }
  const auto links = network_links(folder_);
  const auto addresses = interface_addresses();
  ASSERT_EQ(links.size(), addresses.size());
  for (std::size_t i = 0; i < links.size(); ++i) {
    EXPECT_EQ(links[i].address, addresses[i]);
    EXPECT_FALSE(links[i].interface.empty());
    EXPECT_EQ(links[i].mbit_s, 25000u);
    EXPECT_EQ(links[i].mtu_bytes, 9000u);
  }
}

TEST_F(NetworkLinks, WhatAnInterfaceDoesNotSayIsNotKnown) {
  for (const NetworkLink& link : network_links()) say(link.interface, "speed", "-1\n");
  for (const NetworkLink& link : network_links(folder_)) {
    EXPECT_EQ(link.mbit_s, 0u);
    EXPECT_EQ(link.mtu_bytes, 0u);
  }
}

}  // namespace
}  // namespace alm::job
