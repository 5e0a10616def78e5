#include "session/decision_cache.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/stat.h>

#include <array>
#include <filesystem>
#include <string>
#include <vector>

namespace alm::session {
namespace {

TEST(CacheFile, IsInTheUsersCacheDirectory) {
  EXPECT_EQ(cache_file({{"HOME", "/home/u"}}), "/home/u/.cache/allemande/decisions.toml");
  EXPECT_EQ(cache_file({{"HOME", "/home/u"}, {"XDG_CACHE_HOME", "/scratch"}}),
            "/scratch/allemande/decisions.toml");
}

TEST(CacheFile, IsNotWhereNobodySaysWhichDirectory) {
  EXPECT_EQ(cache_file({}), "");
  EXPECT_EQ(cache_file({{"HOME", ""}}), "");
  EXPECT_EQ(cache_file({{"HOME", "/home/u"}, {"XDG_CACHE_HOME", "here"}}),
            "/home/u/.cache/allemande/decisions.toml");
}

TEST(CacheFile, HasADirectoryOfTheUsersOwn) {
  std::string home = testing::TempDir() + "cacheXXXXXX";
  ASSERT_NE(mkdtemp(home.data()), nullptr);
  const std::string file = cache_file({{"HOME", home}});
  make_cache_directory(file);
  make_cache_directory(file);
  struct stat folder {};
  ASSERT_EQ(::stat((home + "/.cache/allemande").c_str(), &folder), 0);
  EXPECT_EQ(folder.st_mode & 0777u, 0700u);
  std::filesystem::remove_all(home);
  make_cache_directory(file);  // no home is made for a user who has none
  EXPECT_FALSE(std::filesystem::exists(home));
}

class NetworkHash : public testing::Test {
 protected:
  static job::InterfaceAddress address(std::uint8_t net, std::uint8_t host) {
    job::InterfaceAddress one;
    one.family = AF_INET;
    one.prefix_bits = 24;
    one.bytes = {10, 0, net, host};
    return one;
  }
  // Ranks on hosts of these names, which have an address in each of the networks.
  static std::vector<job::JobRecord> on(const std::vector<std::string>& hosts,
                                        const std::vector<std::uint8_t>& networks = {1}) {
    std::vector<job::JobRecord> records;
    for (const std::string& host : hosts) {
      job::JobRecord& record = records.emplace_back();
      job::set_host(record.host, host);
      for (const std::uint8_t net : networks) {
        record.addresses.at(record.address_count++) =
            address(net, static_cast<std::uint8_t>(host.back()));
      }
    }
    return records;
  }
  static std::string hash(const std::vector<job::JobRecord>& records, std::uint32_t mbit_s = 1000,
                          std::uint32_t mtu_bytes = 1500) {
    std::vector<job::NetworkLink> links;
    const job::JobRecord& first = records.front();
    for (std::uint32_t i = 0; i < first.address_count; ++i) {
      links.push_back({first.addresses.at(i), "eth", mbit_s, mtu_bytes});
    }
    return network_hash(records, links);
  }
};

TEST_F(NetworkHash, IsTheSameForTheSameHostsInAnyOrder) {
  EXPECT_EQ(hash(on({"a1", "a2", "a2"})), hash(on({"a2", "a1", "a2"})));
}

TEST_F(NetworkHash, TellsHostsRanksSubnetsRatesAndMtusApart) {
  const std::string one = hash(on({"a1", "a2"}));
  EXPECT_NE(one, hash(on({"a1", "a3"})));
  EXPECT_NE(one, hash(on({"a1", "a2", "a2"})));
  EXPECT_NE(one, hash(on({"a1", "a2"}, {2})));
  EXPECT_NE(one, hash(on({"a1", "a2"}, {1, 2})));
  EXPECT_NE(one, hash(on({"a1", "a2"}), 100));
  EXPECT_NE(one, hash(on({"a1", "a2"}), 1000, 9000));
}

TEST_F(NetworkHash, DoesNotKnowBridgesThatEveryHostHas) {
  auto with_bridge = on({"a1", "a2"});
  for (job::JobRecord& record : with_bridge) {
    record.addresses.at(record.address_count++) = address(99, 1);
  }
  EXPECT_EQ(hash(with_bridge), hash(on({"a1", "a2"})));
}

}  // namespace
}  // namespace alm::session
