// The decision file from one job to the next: all ranks take it over or none does, whatever fails
// on one.
#include <gmock/gmock.h>

#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "session/decision_file.h"
#include "session/session_test_ranks.h"
#include "tuning/way_key.h"

namespace alm::session {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int kCallsUntilDecided = 300;

class SessionDecisions : public SessionTest {
 protected:
  void SetUp() override {
    SessionTest::SetUp();
    options = {"trials=on", "log=warning", "peer_timeout_s=20", "decisions=" + file()};
  }
  virtual std::string file() const { return path("decisions.toml"); }

  // What a job of this shape has found, but for what `change` does.
  void decide(const std::function<void(tuning::Decision& one)>& change) {
    job::FakeJob job(kRanks);
    run(job, [](FakeProcess& process) {
      for (int call = 0; call < kCallsUntilDecided; ++call) process.alltoall(kWorld);
    });
    auto found = read_decisions(file());
    ASSERT_TRUE(found) << found.error().message;
    ASSERT_EQ(found.value().size(), 1u);
    change(found.value()[0]);
    ASSERT_TRUE(write_decisions(file(), found.value()));
  }
  void decide_for_the_library() {
    decide([](tuning::Decision& one) {
      one.chosen = tuning::kLibrary;
      for (auto& way : one.ways) way.time = way.key == tuning::kLibrary ? 100 : 1'000'000;
    });
  }
};

TEST_F(SessionDecisions, ADecisionOfAnEarlierJobIsTakenOverByAllRanks) {
  job::FakeJob before(kRanks);
  EXPECT_FALSE(first_call(before).native);
  std::filesystem::remove(file());
  decide_for_the_library();
  job::FakeJob job(kRanks);
  const First first = first_call(job);
  EXPECT_TRUE(first.good && first.alike && first.native);
}

TEST_F(SessionDecisions, OneOfAnotherDayIsNamedWithItsLine) {
  decide_for_the_library();
  job::FakeJob job(kRanks);
  const auto ends = run(job, [](FakeProcess& process) {
    for (int call = 0; call < kCallsUntilDecided; ++call) process.alltoall(kWorld);
  });
  for (const End& end : ends) EXPECT_TRUE(end.good);
  EXPECT_THAT(ends[0].logged, ElementsAre(AllOf(StartsWith(file() + ":5: MPI_Alltoall on 3 ranks"),
                                                HasSubstr("was decided on at 0.0001 ms a call"))));
  EXPECT_THAT(ends[1].logged, ElementsAre());
}

TEST_F(SessionDecisions, OneThatCannotBeToldToOneRankIsTakenOverByNone) {
  decide_for_the_library();
  expect_all_or_none();
}

TEST_F(SessionDecisions, OneOfAnotherConfigurationIsNotTakenOver) {
  decide_for_the_library();
  options.push_back("window_packets=17");
  job::FakeJob job(kRanks);
  const First first = first_call(job);
  EXPECT_TRUE(first.good && first.alike);
  EXPECT_FALSE(first.native);
}

TEST_F(SessionDecisions, TheWorldDoesNotWaitWithSmallBlocksThatAnotherWayHasWon) {
  constexpr std::uint64_t kSmall = 200;
  for (const std::uint32_t ranks : {kRanks, kRanks + 1}) {
    std::filesystem::remove(file());
    decide([&](tuning::Decision& one) {
      one.ranks = ranks;
      one.least_bytes = one.most_bytes = kSmall;
      one.chosen = one.ways.front().key;
    });
    job::FakeJob job(kRanks);
    const First first = first_call(job, kSmall);
    EXPECT_TRUE(first.good && first.alike);
    EXPECT_EQ(first.native, ranks != kRanks) << ranks;
  }
}

TEST_F(SessionDecisions, AFileThatIsNoneIsWarnedOfAndLeftAlone) {
  std::ofstream(file()) << "no decisions";
  job::FakeJob job(kRanks);
  const auto ends = run(job, [](FakeProcess& process) {
    for (int call = 0; call < kCallsUntilDecided; ++call) process.alltoall(kWorld);
  });
  for (const End& end : ends) EXPECT_TRUE(end.good);
  ASSERT_EQ(ends[0].logged.size(), 1u);
  EXPECT_THAT(ends[0].logged[0], HasSubstr("It is left alone"));
  std::ifstream back(file());
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(back), {}), "no decisions");
}

TEST_F(SessionDecisions, AFileThatCannotBeWrittenIsWarnedOf) {
  options.back() = "decisions=/nonexistent/decisions.toml";
  job::FakeJob job(kRanks);
  const auto ends = run(job, [](FakeProcess& process) {
    for (int call = 0; call < kCallsUntilDecided; ++call) process.alltoall(kWorld);
  });
  for (const End& end : ends) EXPECT_TRUE(end.good);
  ASSERT_EQ(ends[0].logged.size(), 1u);
  EXPECT_THAT(ends[0].logged[0], HasSubstr("ALLEMANDE_DECISIONS: cannot write"));
  EXPECT_THAT(ends[1].logged, ElementsAre());
}

// What jobs keep by themselves.
class SessionCache : public SessionDecisions {
 protected:
  void SetUp() override {
    SessionDecisions::SetUp();
    options.pop_back();
    ::setenv("XDG_CACHE_HOME", path("cache").c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("XDG_CACHE_HOME");
    SessionDecisions::TearDown();
  }
  std::string file() const override { return path("cache/allemande/decisions.toml"); }

  std::vector<End> decide_alone() {
    job::FakeJob job(kRanks);
    auto ends = run(job, [](FakeProcess& process) {
      for (int call = 0; call < kCallsUntilDecided; ++call) process.alltoall(kWorld);
    });
    for (const End& end : ends) EXPECT_TRUE(end.good);
    return ends;
  }
};

TEST_F(SessionCache, OutlivesTheJobWithoutAnOption) {
  decide_for_the_library();
  job::FakeJob job(kRanks);
  const First first = first_call(job);
  EXPECT_TRUE(first.good && first.alike && first.native);
  expect_all_or_none();
}

TEST_F(SessionCache, CostsTheStartOfAJobNothingWhereItIsEmpty) {
  const auto collectives = [&] {
    job::FakeJob job(kRanks);
    run(job, [](FakeProcess&) {});
    return job.calls(0)["allreduce_min"];
  };
  const int without = collectives();
  options.push_back("decisions=off");
  EXPECT_EQ(collectives(), without);
  EXPECT_FALSE(std::filesystem::exists(path("cache")));
}

TEST_F(SessionCache, OffKeepsNone) {
  options.push_back("decisions=off");
  decide_alone();
  EXPECT_FALSE(std::filesystem::exists(path("cache")));
}

TEST_F(SessionCache, IsWrittenAnewWhereItIsNone) {
  std::filesystem::create_directories(path("cache/allemande"));
  std::ofstream(file()) << "no decisions";
  EXPECT_TRUE(decide_alone()[0].logged.empty());
  const auto found = read_decisions(file());
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found.value().size(), 1u);
}

TEST_F(SessionCache, ThatCannotBeWrittenIsNoWarning) {
  ::setenv("XDG_CACHE_HOME", "/proc/none", 1);
  EXPECT_TRUE(decide_alone()[0].logged.empty());
}

TEST_F(SessionCache, OfOtherHostsIsNotTakenOver) {
  decide_for_the_library();
  auto found = read_decisions(file());
  ASSERT_TRUE(found);
  found.value()[0].shape.network = "0123456789abcdef";
  ASSERT_TRUE(write_decisions(file(), found.value()));
  job::FakeJob job(kRanks);
  EXPECT_FALSE(first_call(job).native);
}

}  // namespace
}  // namespace alm::session
