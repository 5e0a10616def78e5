#include "job/slurm_leaf.h"

#include <gtest/gtest.h>

namespace alm::job {
namespace {

base::Environment slurm(const std::string& address, const std::string& pattern) {
  return {{"SLURM_TOPOLOGY_ADDR", address}, {"SLURM_TOPOLOGY_ADDR_PATTERN", pattern}};
}

TEST(SlurmSwitches, AreWhatStandsBeforeTheNode) {
  EXPECT_EQ(slurm_switches(slurm("core.rack3.n17", "switch.switch.node"), "n17"), "core.rack3");
  EXPECT_EQ(slurm_switches(slurm("rack3.n17", "switch.node"), "n17.site.org"), "rack3");
}

TEST(SlurmSwitches, AreNotKnownWithoutTheTopologyPlugin) {
  EXPECT_EQ(slurm_switches({}, "n17"), "");
  EXPECT_EQ(slurm_switches(slurm("n17", "node"), "n17"), "");
  EXPECT_EQ(slurm_switches(slurm("b1.n17", "block.node"), "n17"), "");
}

TEST(SlurmSwitches, OfAnotherHostAreNotTaken) {
  EXPECT_EQ(slurm_switches(slurm("core.rack3.n17", "switch.switch.node"), "n18"), "");
}

TEST(LeafNumber, TellsLeavesApart) {
  EXPECT_EQ(leaf_number(""), 0u);
  EXPECT_NE(leaf_number("core.rack3"), 0u);
  EXPECT_NE(leaf_number("core.rack3"), leaf_number("core.rack4"));
}

}  // namespace
}  // namespace alm::job
