#include "job/slurm_topology.h"

#include <gmock/gmock.h>

#include <string>

namespace alm::job {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kConf = R"(# as ib2slurm writes it
SwitchName=rack1 Nodes=n[01-16],login LinkSpeed=100
switchname = "rack2" \
  NODES=n[17-32]   # the second
SwitchName=core Switches=rack[1-2]
SwitchName=other Switches=rack[1-2]
BlockName=b1 Nodes=n[01-32]
)";

constexpr std::string_view kYaml = R"(---
- topology: blocks
  block:
    block_sizes: [4, 16]
    blocks:
      - block: b1
        nodes: n[01-32]
- topology: small
  tree:
    switches:
    - switch: one
      nodes: n[01-02]
- cluster_default: true   # not the first attribute
  topology: "whole"
  tree:
    switches:
      - switch: core
        children: rack[1-2]
      - nodes: n[01-16]
        switch: 'rack1'
      - switch: rack2
        nodes: "n[17-32]"
- topology: none
  flat: true
)";

TEST(SlurmTopology, NamesTheSwitchesAboveANode) {
  EXPECT_EQ(switches_in_conf(kConf, "topology.conf", "n03").value(), "core.rack1");
  EXPECT_EQ(switches_in_conf(kConf, "topology.conf", "n32").value(), "core.rack2");
  EXPECT_EQ(switches_in_conf(kConf, "topology.conf", "login").value(), "core.rack1");
  EXPECT_EQ(switches_in_yaml(kYaml, "topology.yaml", "n01").value(), "core.rack1");
  EXPECT_EQ(switches_in_yaml(kYaml, "topology.yaml", "n17").value(), "core.rack2");
}

TEST(SlurmTopology, OneSwitchIsEnough) {
  EXPECT_EQ(switches_in_conf("SwitchName=s Nodes=a,b", "f", "b").value(), "s");
  EXPECT_EQ(switches_in_yaml("- topology: t\r\n  tree:\r\n    switches:\r\n    - switch: s\r\n"
                             "      nodes: a\r\n",
                             "f", "a")
                .value(),
            "s");
}

struct Broken {
  bool yaml;
  std::string text, expected;
};

TEST(SlurmTopology, SaysInOneLineWhatIsWrong) {
  const std::string tree = "- topology: t\n  tree:\n    switches:\n";
  const std::vector<Broken> all = {
      {false, "", "f: names no switches"},
      {false, "BlockName=b Nodes=a", "f: names no switches"},
      {false, "SwitchName=s Nodes=b[0-3", "f:1: "},
      {false, "\nSwitchName=s Nodes", "f:2: expected KEY=VALUE"},
      {false, "SwitchName=s Nodes=b", "f: no switch has the node a"},
      {false, "SwitchName=s Nodes=a Switches=t\nSwitchName=t Switches=s", "is below itself"},
      {false, std::string("SwitchName=s Nodes=\0\xff=", 22), "f"},
      {true, "", "f: has no tree of switches"},
      {true, "switches: a", "f:1: expected a list of topologies"},
      {true, "- topology: t\n\ttree:", "f:2: a tab"},
      {true, "- topology: t\n  flat: true", "f: has no tree of switches"},
      {true, "- topology: t\n  tree: {switches: []}", "f:2: `tree` is no plain text"},
      {true, tree + "    - switch: s\n      nodes: &all a", "f:5: `nodes` is no plain text"},
      {true, tree + "    - switch: s\n      nodes: a[", "f:4: "},
      {true, tree + "    - switch: s\n      nodes: b", "f: no switch has the node a"},
      {true, tree + "- topology: u\n  tree:\n", "f: has 2 trees of switches, and none is the"},
  };
  for (const Broken& one : all) {
    const auto found =
        one.yaml ? switches_in_yaml(one.text, "f", "a") : switches_in_conf(one.text, "f", "a");
    ASSERT_FALSE(found.ok()) << one.text;
    EXPECT_THAT(found.error().message, HasSubstr(one.expected)) << one.text;
    EXPECT_EQ(found.error().message.find('\n'), std::string::npos) << one.text;
  }
}

TEST(SlurmTopology, ManyLongListsAreRefusedSoon) {
  std::string conf;
  for (int i = 0; i < 20'000; ++i)
    conf += "SwitchName=s" + std::to_string(i) + " Nodes=h[0-99999]\n";
  const auto found = switches_in_conf(conf, "f", "a");
  ASSERT_FALSE(found.ok());
  EXPECT_THAT(found.error().message, HasSubstr("f:21: the lists of nodes and switches"));
}

// Whatever lies there ends, and neither harms nor is taken for a network.
TEST(SlurmTopology, AnyTextEnds) {
  for (std::size_t cut = 0; cut < kYaml.size(); ++cut) {
    static_cast<void>(switches_in_yaml(kYaml.substr(0, cut), "f", "n01"));
    static_cast<void>(switches_in_yaml(kYaml.substr(cut), "f", "n01"));
    static_cast<void>(switches_in_conf(kYaml.substr(cut), "f", "n01"));
  }
  for (std::size_t cut = 0; cut < kConf.size(); ++cut) {
    static_cast<void>(switches_in_conf(kConf.substr(0, cut), "f", "n01"));
    static_cast<void>(switches_in_conf(kConf.substr(cut), "f", "n01"));
    static_cast<void>(switches_in_yaml(kConf.substr(cut), "f", "n01"));
  }
}

}  // namespace
}  // namespace alm::job
