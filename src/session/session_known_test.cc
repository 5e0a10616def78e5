#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "session/session_test_ranks.h"

namespace alm::session {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SessionKnown : public SessionTest {
 protected:
  std::vector<std::string> told() {
    job::FakeJob job(kRanks);
    auto lines = run(job, [](FakeProcess&) {})[0].logged;
    std::erase_if(lines, [](const std::string& line) { return !line.starts_with("known, "); });
    return lines;
  }
};

TEST_F(SessionKnown, FiveLinesSayWhatIsKnownFromWhere) {
  options = {"log=info"};
  EXPECT_THAT(told(), ElementsAre(HasSubstr("hosts: 3 ranks on 3 hosts"),
                                  HasSubstr("switches: 1 switch with 3 hosts, by "),
                                  HasSubstr("links: "), HasSubstr("by the cluster file"),
                                  HasSubstr("decisions: 0 of earlier jobs")));
}

TEST_F(SessionKnown, WithoutAFileTheySayThatTheNetworkIsNotKnown) {
  options = {"log=info", "decisions=off"};
  configure = [](std::uint32_t, Surroundings& its) { its.settings.cluster_file.clear(); };
  const auto lines = told();
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_THAT(lines[1], HasSubstr("all hosts are taken to hang on one"));
  EXPECT_THAT(lines[3], HasSubstr("not known before exchanges are made"));
  EXPECT_THAT(lines[4], HasSubstr("none are kept"));
}

// A job of Slurm on a node with this file of switches.
TEST_F(SessionKnown, InAJobOfSlurmItsFileOfSwitchesIsRead) {
  ::setenv("SLURM_JOB_ID", "7", 1);
  ::setenv("SLURM_CONF", path("slurm.conf").c_str(), 1);
  options = {"log=info", "decisions=off"};
  configure = [](std::uint32_t, Surroundings& its) { its.settings.cluster_file.clear(); };
  std::ofstream(path("topology.conf")) << "SwitchName=s1 Nodes=h[0-1]\nSwitchName=s2 Nodes=h2\n";
  EXPECT_THAT(told()[1], AllOf(HasSubstr("this host hangs on s1, by "),
                               HasSubstr("topology.conf; queues are not known")));
  std::ofstream(path("topology.conf")) << "SwitchName=s1 Nodes=h[0-\n";
  EXPECT_THAT(told()[1], AllOf(HasSubstr("all hosts are taken to hang on one ("),
                               HasSubstr("topology.conf:1: ")));
  ::unsetenv("SLURM_JOB_ID");
  ::unsetenv("SLURM_CONF");
}

TEST_F(SessionKnown, ALatencyThatNothingTakesIsNamedWithItsLineInTheEnd) {
  options = {"log=warning", "trials=off"};
  std::ofstream(path("cluster.toml"), std::ios::app) << "      latency_us = 50000\n";
  job::FakeJob job(kRanks);
  const auto ends = run(job, [](FakeProcess& process) { process.alltoall(kWorld); });
  EXPECT_TRUE(ends[0].good);
  EXPECT_THAT(ends[0].logged,
              ElementsAre(AllOf(HasSubstr("cluster.toml:14: the latency of h0 -> s, 50000 us, is "
                                          "too high"),
                                HasSubstr("Correct the file."))));
  EXPECT_TRUE(ends[1].logged.empty());
}

TEST_F(SessionKnown, NothingIsSaidUnlessItIsAskedFor) {
  options = {"log=warning"};
  EXPECT_TRUE(told().empty());
}

}  // namespace
}  // namespace alm::session
