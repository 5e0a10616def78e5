#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "topology/cluster.h"

namespace alm::topology {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::filesystem::path kFixtures =
    std::filesystem::path(ALM_SOURCE_DIR) / "tests/fixtures/clusters";
const std::filesystem::path kReadyMade = std::filesystem::path(ALM_SOURCE_DIR) / "clusters";

std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string read(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

Cluster must_load(const std::filesystem::path& path) {
  auto cluster = load_cluster(path.string());
  EXPECT_TRUE(cluster.ok()) << (cluster ? "" : cluster.error().message);
  return cluster ? std::move(cluster).value() : Cluster{};
}

// Each file's first line is "# expect: LINE: message"; ALM_UPDATE_FIXTURES=1 rewrites it.
TEST(Parse, RefusesEveryBadFixtureWithItsMessage) {
  constexpr std::string_view kMark = "# expect: ";
  const auto files = files_in(kFixtures / "bad");
  EXPECT_GE(files.size(), 60u);
  for (const auto& path : files) {
    const std::string text = read(path);
    const std::size_t line_end = text.find('\n');
    const auto cluster = parse_cluster(text, "c.toml");
    ASSERT_FALSE(cluster.ok()) << path;
    EXPECT_EQ(cluster.error().code, base::ErrorCode::kBadInput);
    const std::string& message = cluster.error().message;
    ASSERT_THAT(message, StartsWith("c.toml:"));
    if (std::getenv("ALM_UPDATE_FIXTURES")) {
      std::ofstream(path, std::ios::binary) << kMark << message.substr(7) << text.substr(line_end);
      continue;
    }
    ASSERT_THAT(text, StartsWith(std::string(kMark)));
    EXPECT_EQ(message.substr(7), text.substr(kMark.size(), line_end - kMark.size())) << path;
  }
}

TEST(Parse, GoodAndReadyMadeFilesReadBackFromWhatIsWritten) {
  auto files = files_in(kFixtures / "good");
  for (const auto& path : files_in(kReadyMade)) files.push_back(path);
  EXPECT_GE(files.size(), 13u);
  for (const auto& path : files) {
    const Cluster cluster = must_load(path);
    const std::string text = to_toml(cluster);
    auto again = parse_cluster(text, "again");
    ASSERT_TRUE(again.ok()) << path << again.error().message;
    EXPECT_EQ(to_toml(again.value()), text) << path;
    EXPECT_EQ(again.value().hosts.size(), cluster.hosts.size());
    EXPECT_EQ(again.value().links.size(), cluster.links.size());
  }
}

TEST(Parse, ReadsEveryKey) {
  const Cluster cluster = must_load(kFixtures / "good/everything.toml");
  EXPECT_EQ(cluster.description, "two halls, a \"quoted\" word and a ring of spines");
  EXPECT_EQ(cluster.framing.mtu_bytes, 9000u);
  EXPECT_EQ(cluster.framing.link_header_bytes, 18u);
  ASSERT_EQ(cluster.switches.size(), 7u);
  const Switch& leaf = cluster.switches[3];
  EXPECT_EQ(leaf.name, "hall2-leaf02");
  EXPECT_EQ(leaf.architecture, Architecture::kInput);
  EXPECT_EQ(leaf.switching, Switching::kCutThrough);
  EXPECT_EQ(leaf.flow_control, FlowControl::kBackPressure);
  EXPECT_EQ(leaf.buffer_packets, 128u);
  EXPECT_EQ(leaf.buffer_alpha, 0.5);
  EXPECT_EQ(leaf.backplane_mbit_s, 5000.5);
  EXPECT_EQ(cluster.switches[4].architecture, Architecture::kOutput);
  EXPECT_EQ(cluster.switches[4].switching, Switching::kStoreAndForward);
  EXPECT_EQ(cluster.switches[4].flow_control, FlowControl::kDrop);
  ASSERT_EQ(cluster.hosts.size(), 8u);
  EXPECT_EQ(cluster.hosts[2].name, "a10");
  EXPECT_EQ(cluster.hosts[2].address, "fd00::3");
  EXPECT_EQ(cluster.hosts[2].interface, "eth0");
  EXPECT_EQ(cluster.hosts[5].address, "");
  EXPECT_EQ(cluster.hosts[5].interface, "eth1");
  const Link& link = cluster.links[1];
  EXPECT_EQ(cluster.node_name(link.from), "a09");
  EXPECT_EQ(cluster.node_name(link.to), "hall1-leaf02");
  EXPECT_EQ(link.rate_up_mbit_s, 100);
  EXPECT_EQ(link.rate_down_mbit_s, 1000);
  EXPECT_EQ(link.latency_us, 2.5);
  EXPECT_EQ(link.queue_up_packets, 10u);
  EXPECT_EQ(link.queue_down_packets, 43u);
  EXPECT_EQ(link.bidirectional_cap_mbit_s, 150);
  const Link& plain = cluster.links[4];
  EXPECT_EQ(plain.queue_up_packets, 1000u);
  EXPECT_EQ(plain.queue_down_packets, 1000u);
  EXPECT_EQ(cluster.find_host("b4"), base::HostId{7});
  EXPECT_EQ(cluster.find_host("spine0"), std::nullopt);
}

TEST(Parse, LettersBeyondAsciiSurvive) {
  const Cluster cluster = must_load(kFixtures / "good/unicode-and-arrays.toml");
  EXPECT_EQ(cluster.description, "Z\xc3\xbcrich \"[[[\" \xe7\xb6\xb2\xe8\xb7\xaf # not a comment");
  auto again = parse_cluster(to_toml(cluster), "again");
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again.value().description, cluster.description);
}

TEST(Parse, RefusesWhatIsNotUtf8) {
  for (const std::string_view text :
       {"\xfc", "\xc3", "\xc3(", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\x80"}) {
    const auto cluster = parse_cluster("x = 1\ny = \"" + std::string(text) + "\"\n", "c");
    ASSERT_FALSE(cluster.ok());
    EXPECT_THAT(cluster.error().message,
                StartsWith("c:2: not valid TOML: a string that is not UTF-8"));
  }
}

TEST(Parse, ReadyMadeClustersAreWhatTheirNamesSay) {
  struct Expected {
    std::string name;
    std::uint32_t hosts, leaves;
    double uplink;
    std::uint32_t core_queue, host_queue = 43, leaf_queue = 45;
  };
  for (const Expected& e : {Expected{"tam-16x1", 16, 1, 0, 0},
                            {"tam-8x1", 8, 1, 0, 0},
                            {"tam-8x2", 16, 2, 1000, 820},
                            {"tam-8x3", 24, 3, 1000, 820},
                            {"tam-6x4", 24, 4, 1000, 820},
                            {"tam-8x4", 32, 4, 1000, 820},
                            {"tam-8x2-u412", 16, 2, 412, 820},
                            {"tam-8x3-u412", 24, 3, 412, 820},
                            {"tam-6x4-u412", 24, 4, 412, 820},
                            {"tam-8x4-u412", 32, 4, 412, 820},
                            {"oversubscribed-8x4", 32, 4, 500, 45},
                            {"shallow-8x1", 8, 1, 0, 0, 10},
                            {"shallow-4x2", 8, 2, 200, 10, 10, 10}}) {
    const Cluster cluster = must_load(kReadyMade / (e.name + ".toml"));
    EXPECT_EQ(cluster.name, e.name);
    EXPECT_EQ(cluster.host_count(), e.hosts);
    EXPECT_EQ(cluster.switches.size(), e.leaves == 1 ? 1 : e.leaves + 1);
    for (std::uint32_t i = 0; i < cluster.links.size(); ++i) {
      const Link& link = cluster.links[i];
      EXPECT_EQ(link.rate_up_mbit_s, link.rate_down_mbit_s);
      if (i < e.hosts) {
        EXPECT_EQ(cluster.hosts[link.from.value].name, "h" + std::to_string(i));
        EXPECT_EQ(cluster.node_name(link.to), "leaf" + std::to_string(i / (e.hosts / e.leaves)));
        EXPECT_EQ(link.rate_up_mbit_s, 100);
        EXPECT_EQ(link.queue_down_packets, e.host_queue);
      } else {
        EXPECT_EQ(cluster.node_name(link.to), "core");
        EXPECT_EQ(link.rate_up_mbit_s, e.uplink);
        EXPECT_EQ(link.queue_up_packets, e.leaf_queue);
        EXPECT_EQ(link.queue_down_packets, e.core_queue);
      }
    }
  }
}

TEST(Parse, MissingFileAndFolderAreBadInput) {
  for (const std::string path : {"/nonexistent/c.toml", "/tmp"}) {
    const auto cluster = load_cluster(path);
    ASSERT_FALSE(cluster.ok());
    EXPECT_EQ(cluster.error().code, base::ErrorCode::kBadInput);
    EXPECT_THAT(cluster.error().message, HasSubstr(path));
  }
}

TEST(Parse, MessagesAreShortAndOfOneLineWhateverTheFileHolds) {
  for (const std::string& name : {std::string(5000, 'x'), std::string(R"(a\nb\u001b[2J)")}) {
    const auto text = "format = 1\nname = \"x\"\n[[host]]\nname = \"" + name + "\"\n";
    const auto cluster = parse_cluster(text, "names");
    ASSERT_FALSE(cluster.ok());
    const std::string& message = cluster.error().message;
    EXPECT_LT(message.size(), 700u);
    EXPECT_TRUE(std::all_of(message.begin(), message.end(), [](char c) { return c >= ' '; }));
  }
}

TEST(Parse, ScaledMultipliesRatesAlone) {
  const Cluster cluster = must_load(kFixtures / "good/everything.toml");
  const Cluster half = scaled(cluster, 0.5);
  EXPECT_EQ(half.links[0].rate_up_mbit_s, 50);
  EXPECT_EQ(half.links[0].rate_down_mbit_s, 500);
  EXPECT_EQ(half.links[0].bidirectional_cap_mbit_s, 75);
  EXPECT_EQ(half.links[0].latency_us, 2.5);
  EXPECT_EQ(half.links[0].queue_down_packets, 43u);
  EXPECT_EQ(half.switches[0].backplane_mbit_s, 2500.25);
  EXPECT_EQ(to_toml(scaled(half, 2)), to_toml(cluster));
}

// Whatever the text: an answer, no crash. The seed and trial identify a failing input.
TEST(Parse, SurvivesDamagedFiles) {
  std::vector<std::string> texts;
  for (const auto& path : files_in(kFixtures / "good")) texts.push_back(read(path));
  texts.push_back(read(kReadyMade / "tam-8x4.toml"));
  const std::vector<std::string> pieces{"[[",
                                        "]]",
                                        "=",
                                        "\"",
                                        "\"\"\"",
                                        "'",
                                        "{",
                                        "}",
                                        "\n",
                                        "nan",
                                        "-1",
                                        "1e400",
                                        "99999999999999999999",
                                        "h[0-9999]",
                                        "\xff",
                                        std::string(1, '\0'),
                                        "[[link]]",
                                        "[[[",
                                        "\n[=",
                                        "\n[",
                                        "[}",
                                        "{]",
                                        "a=[",
                                        "\xc3\xa9",
                                        "\xe2\x80\x8b",
                                        "\'",
                                        "\'\'\'",
                                        "\\",
                                        "\r",
                                        ",",
                                        "#",
                                        "\\u0000",
                                        "["};
  std::mt19937 random(7);
  for (int trial = 0; trial < 6000; ++trial) {
    std::string text = texts[random() % texts.size()];
    for (std::uint32_t i = 0; i <= random() % 4; ++i) {
      const std::size_t at = random() % text.size();
      const std::string& piece = pieces[random() % pieces.size()];
      switch (random() % 4) {
        case 0:
          text.insert(at, piece);
          break;
        case 1:
          text.erase(at, random() % 30);
          break;
        case 2:
          text.replace(at, std::min<std::size_t>(1 + random() % 8, text.size() - at), piece);
          break;
        default:
          text[at] = static_cast<char>(random() % 256);
      }
      if (text.empty()) text = "x";
    }
    const auto cluster = parse_cluster(text, "damaged");
    if (!cluster) {
      EXPECT_THAT(cluster.error().message, StartsWith("damaged:")) << "trial " << trial;
    } else {
      EXPECT_TRUE(parse_cluster(to_toml(cluster.value()), "again").ok()) << "trial " << trial;
    }
  }
  EXPECT_FALSE(parse_cluster(std::string(100'000, '['), "deep").ok());
  EXPECT_FALSE(parse_cluster("a = " + std::string(100'000, '['), "deep").ok());
  EXPECT_FALSE(parse_cluster("a" + std::string(200'000, '.') + "b = 1", "dots").ok());
}

}  // namespace
}  // namespace alm::topology
