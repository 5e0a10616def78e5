#include "job/slurm_leaf.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace alm::job {
namespace {

base::Environment slurm(const std::string& address, const std::string& pattern) {
  return {{"SLURM_TOPOLOGY_ADDR", address}, {"SLURM_TOPOLOGY_ADDR_PATTERN", pattern}};
}

TEST(SlurmSwitches, AreWhatStandsBeforeTheNode) {
  EXPECT_EQ(slurm_switches(slurm("core.rack3.n17", "switch.switch.node"), "n17").names,
            "core.rack3");
  EXPECT_EQ(slurm_switches(slurm("rack3.n17", "switch.node"), "n17.site.org").names, "rack3");
}

TEST(SlurmSwitches, AreNotKnownWithoutTheTopologyPlugin) {
  EXPECT_EQ(slurm_switches({}, "n17").names, "");
  EXPECT_EQ(slurm_switches(slurm("n17", "node"), "n17").names, "");
  EXPECT_EQ(slurm_switches(slurm("b1.n17", "block.node"), "n17").names, "");
}

TEST(SlurmSwitches, OfAnotherHostAreNotTaken) {
  EXPECT_EQ(slurm_switches(slurm("core.rack3.n17", "switch.switch.node"), "n18").names, "");
}

// A folder of slurm.conf.
struct SlurmFiles : testing::Test {
  void SetUp() override {
    folder = testing::TempDir() + "slurm-" + std::to_string(::getpid());
    std::filesystem::create_directories(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder + "/" + name) << text;
  }
  base::Environment job(base::Environment more = {}) const {
    more["SLURM_JOB_ID"] = "7";
    more["SLURM_CONF"] = folder + "/slurm.conf";
    return more;
  }

  std::string folder;
};

TEST_F(SlurmFiles, TellWhatVariablesDoNot) {
  write("topology.conf", "SwitchName=rack3 Nodes=n[17-18]\nSwitchName=core Switches=rack3");
  for (const auto& variables :
       {base::Environment{}, slurm("n17", "node"), slurm("core.rack9.n1", "switch.switch.node")}) {
    const auto found = slurm_switches(job(variables), "n17.site.org");
    EXPECT_EQ(found.names, "core.rack3");
    EXPECT_EQ(found.by, folder + "/topology.conf");
  }
  const auto told = slurm_switches(job(slurm("core.rack4.n17", "switch.switch.node")), "n17");
  EXPECT_EQ(told.names, "core.rack4");
  EXPECT_EQ(told.by, "SLURM_TOPOLOGY_ADDR");
  EXPECT_TRUE(slurm_folders({{"SLURM_CONF", folder + "/slurm.conf"}}).empty()) << "no job";
}

TEST_F(SlurmFiles, YamlOutranksConf) {
  write("topology.conf", "SwitchName=old Nodes=n17");
  write("topology.yaml",
        "- topology: t\n  tree:\n    switches:\n      - switch: new\n        nodes: n17\n");
  EXPECT_EQ(slurm_switches(job(), "n17").names, "new");
  write("topology.yaml", "- topology: t\n  flat: true\n");
  EXPECT_EQ(slurm_switches(job(), "n17").names, "");
  EXPECT_EQ(slurm_switches(job(), "n17").trouble,
            folder + "/topology.yaml: has no tree of switches");
}

TEST_F(SlurmFiles, ThatAreBrokenAreSaidInOneLine) {
  write("topology.conf", "SwitchName=rack3 Nodes=n[17-");
  EXPECT_EQ(slurm_switches(job(), "n17").names, "");
  EXPECT_THAT(slurm_switches(job(), "n17").trouble, testing::HasSubstr("topology.conf:1: "));
  write("topology.conf", std::string(2 << 20, '#'));
  EXPECT_THAT(slurm_switches(job(), "n17").trouble, testing::HasSubstr("topology.conf"));
  std::filesystem::remove(folder + "/topology.conf");
  std::filesystem::create_directory(folder + "/topology.conf");
  EXPECT_THAT(slurm_switches(job(), "n17").trouble, testing::HasSubstr("topology.conf"));
}

TEST(LeafNumber, TellsLeavesApart) {
  EXPECT_EQ(leaf_number(""), 0u);
  EXPECT_NE(leaf_number("core.rack3"), 0u);
  EXPECT_NE(leaf_number("core.rack3"), leaf_number("core.rack4"));
  EXPECT_EQ(leaf_number("core[0-1].rack3"), leaf_number("core0.rack3"))
      << "the variable lists all switches of a level, the file has one";
}

}  // namespace
}  // namespace alm::job
