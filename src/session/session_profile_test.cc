// The profile of the network in jobs: what it foresees is taken first, on all ranks or on none.
#include <gmock/gmock.h>

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "session/decision_file.h"
#include "session/session_test_ranks.h"

namespace alm::session {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr std::uint64_t kBytes = 1000;
constexpr const char* kOurs = "udp sync-shuffle@balanced";

// What a call of kBytes takes by each way.
using Times = std::vector<std::pair<std::string, double>>;

class SessionProfile : public SessionTest {
 protected:
  void SetUp() override {
    SessionTest::SetUp();
    options = {"trials=on", "log=warning", "peer_timeout_s=20", "profile=" + file()};
  }
  std::string file() const { return path("net.toml"); }

  struct Network {
    std::string hosts = "h[0-2]";
    std::string mpi = "Fake MPI 1";
    std::string more;  // of [network]
    double rate_mbit_s = 10000;
  };

  void write_profile(const Times& times) { write_profile(times, Network()); }
  void write_profile(const Times& times, const Network& network) {
    std::ofstream out(file());
    out << "format = 1\n[network]\nhosts = '" << network.hosts << "'\nversion = '0.1.0'\nmpi = '"
        << network.mpi << "'\n"
        << network.more << R"(
[cluster]
format = 1
name = "found"
[[cluster.switch]]
name = "s"
[[cluster.host]]
name = ")"
        << network.hosts << "\"\n[[cluster.link]]\nfrom = \"" << network.hosts
        << "\"\nto = \"s\"\nqueue_down_packets = 500\nrate_mbit_s = " << network.rate_mbit_s
        << "\n";
    for (const auto& [way, seconds] : times) {
      out << "[[sample]]\ncandidate = 'by hand'\nway = '" << way
          << "'\nhosts = 3\nbytes = " << kBytes << "\ntimes_s = [" << seconds << "]\n";
    }
  }

  First first_call() {
    job::FakeJob job(kRanks);
    return SessionTest::first_call(job, kBytes);
  }
};

TEST_F(SessionProfile, TheWayPredictedToBeTheFastestIsTakenFirst) {
  for (const bool library : {true, false}) {
    write_profile({{"library", library ? 0.001 : 0.009}, {kOurs, 0.004}, {"mpi all", 0.005}});
    options[1] = "log=info";
    const First first = first_call();
    EXPECT_TRUE(first.good && first.alike);
    EXPECT_EQ(first.native, library);
    const std::string begins = library ? "begins with the MPI library (predicted: 1 ms; "
                                       : "begins with sync-shuffle (balanced) over UDP";
    EXPECT_THAT(first.logged, testing::Contains(HasSubstr(begins)));
  }
}

TEST_F(SessionProfile, LibrariesWriteTheirVersionInSeveralWays) {
  for (const char* mpi : {"Fake MPI v1", "Fake MPI Version: 1", "Fake MPI  Version:     1"}) {
    Network network;
    network.mpi = mpi;
    write_profile({{"library", 0.001}, {kOurs, 0.004}}, network);
    const First first = first_call();
    EXPECT_TRUE(first.native) << mpi;
    EXPECT_THAT(first.logged, testing::IsEmpty()) << mpi;
  }
}

TEST_F(SessionProfile, MessagesMayBeTheFirst) {
  write_profile({{"library", 0.009}, {kOurs, 0.004}, {"mpi all", 0.002}});
  options[1] = "log=info";
  const First first = first_call();
  EXPECT_TRUE(first.good && first.alike);
  EXPECT_FALSE(first.native);
  EXPECT_THAT(first.logged, testing::Contains(HasSubstr("begins with all at once")));
}

TEST_F(SessionProfile, WithoutSamplesLargeBlocksOfOursAreForeseenFromTheLinks) {
  write_profile({});
  options[1] = "log=info";
  job::FakeJob job(kRanks);
  const auto ends = run(job, [](FakeProcess& process) {
    process.alltoall(kWorld, kBytes);
    process.alltoall(kWorld, 20 * kBytes);
  });
  const auto begins = [&](const char* sizes, const char* predicted) {
    return testing::Contains(testing::AllOf(HasSubstr(sizes), HasSubstr("begins with sync-shuffle"),
                                            HasSubstr(predicted),
                                            HasSubstr("the MPI library: nothing")));
  };
  EXPECT_THAT(ends[0].logged, begins("512 to 1023 bytes", "(predicted: nothing;"));
  EXPECT_THAT(ends[0].logged, begins("16384 to 32767 bytes", "(predicted: 0.0"));
}

TEST_F(SessionProfile, ABrokenOneIsWarnedOfByFileAndLine) {
  std::ofstream(file()) << "format = 1\n[network]\nhosts = 3\n";
  const First first = first_call();
  EXPECT_TRUE(first.good && first.alike);
  EXPECT_FALSE(first.native);
  ASSERT_EQ(first.logged.size(), 1u);
  EXPECT_THAT(first.logged[0], StartsWith("ALLEMANDE_PROFILE: " + file() + ":"));
  EXPECT_THAT(first.logged[0], HasSubstr(". It is not used."));
  std::filesystem::remove(file());
  EXPECT_THAT(first_call().logged, testing::ElementsAre(HasSubstr(file() + ": cannot be read")));
}

TEST_F(SessionProfile, OneOfAnotherNetworkIsNamedAndNotUsed) {
  const Times times = {{"library", 0.001}, {kOurs, 0.004}};
  Network hosts, mpi, scale, mtu, links;
  hosts.hosts = "h[0-1,3]";
  mpi.mpi = "Fake MPI 2";
  scale.more = "time_scale = 10";
  mtu.more = "mtu_bytes = 9000";
  links.rate_mbit_s = 1000;
  for (const auto& [network, why] : std::vector<std::pair<Network, std::string>>{
           {hosts, "it does not know host h2"},
           {mpi, "it was measured with Fake MPI 2, this job has Fake MPI 1"},
           {scale, "it was measured at a time scale of 10, this job has 1"},
           {mtu, "it was measured with an MTU of 9000 bytes, this job has 1500"},
           {links, "its hosts have links of 1000 Mbit/s, by the cluster file 1e+04 Mbit/s"}}) {
    write_profile(times, network);
    const First first = first_call();
    EXPECT_TRUE(first.good && first.alike);
    EXPECT_FALSE(first.native) << why;
    ASSERT_EQ(first.logged.size(), 1u) << why;
    EXPECT_THAT(first.logged[0], HasSubstr(file() + " is of another network: " + why + ". It is"));
  }
  write_profile(times);
  const First first = first_call();
  EXPECT_TRUE(first.native);
  EXPECT_THAT(first.logged, IsEmpty());
}

TEST_F(SessionProfile, OneOfAnotherDayIsNamed) {
  write_profile({{"library", 9}, {kOurs, 4}});
  job::FakeJob job(kRanks);
  const auto ends = run(job, [](FakeProcess& process) {
    for (int call = 0; call < 300; ++call) process.alltoall(kWorld, kBytes);
  });
  EXPECT_THAT(ends[0].logged,
              testing::ElementsAre(testing::AllOf(
                  StartsWith("ALLEMANDE_PROFILE: " + file() + ": MPI_Alltoall on 3 ranks"),
                  HasSubstr("measured on another day"))));
  EXPECT_THAT(ends[1].logged, IsEmpty());
}

TEST_F(SessionProfile, OneThatCannotBeToldToOneRankIsUsedByNone) {
  write_profile({{"library", 0.001}, {kOurs, 0.004}});
  expect_all_or_none(kBytes);
}

TEST_F(SessionProfile, DecisionsTellWhatWasPredictedAndHoldForThisProfile) {
  write_profile({{"library", 0.001}, {kOurs, 0.004}});
  const std::string decisions = path("decisions.toml");
  options.push_back("decisions=" + decisions);
  job::FakeJob before(kRanks);
  run(before, [](FakeProcess& process) {
    for (int call = 0; call < 100; ++call) process.alltoall(kWorld, kBytes);
  });
  auto found = read_decisions(decisions);
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found.value().size(), 1u);
  tuning::Decision& one = found.value()[0];
  EXPECT_EQ(one.shape.profile.size(), 16u);
  EXPECT_EQ(one.ways.at(0).key, "library");
  EXPECT_EQ(one.ways.at(0).predicted, base::kMillisecond);
  EXPECT_EQ(one.ways.at(1).predicted, 4 * base::kMillisecond);
  one.chosen = kOurs;
  for (auto& way : one.ways) way.time = way.key == kOurs ? 100 : 1'000'000;
  ASSERT_TRUE(write_decisions(decisions, found.value()));
  EXPECT_FALSE(first_call().native) << "as decided";
  write_profile({{"library", 0.001}, {kOurs, 0.005}});
  EXPECT_TRUE(first_call().native) << "it was decided with another profile";
}

}  // namespace
}  // namespace alm::session
