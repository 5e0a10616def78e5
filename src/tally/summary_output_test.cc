#include "tally/summary_output.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>

namespace alm::tally {
namespace {

using ::testing::HasSubstr;

std::string contents(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class SummaryOutputTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "summary.XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    path_ = name + "/summary.txt";
  }

  // What a process leaves that tallies a call and then ends by `end`; its wait status.
  int ends_by(const std::function<void(SummaryOutput&)>& end) {
    const pid_t child = fork();
    if (child == 0) {
      Tally tally;
      tally.begin(1);
      SummaryOutput output(tally);
      output.begin(path_, 0, 4, true);
      tally.note(Function::kAlltoall, 64, {}, base::kMillisecond);
      end(output);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status;
  }

  std::string path_;
};

TEST_F(SummaryOutputTest, IsSaidOnce) {
  ends_by([](SummaryOutput& output) {
    output.say("at MPI_Finalize");
    output.say("again");
  });
  EXPECT_THAT(contents(path_), HasSubstr("at MPI_Finalize: "));
}

TEST_F(SummaryOutputTest, ComesOutWhenASignalEndsTheProcess) {
  for (const int number : {SIGTERM, SIGINT, SIGABRT, SIGSEGV}) {
    unlink(path_.c_str());
    const int status = ends_by([number](SummaryOutput&) { raise(number); });
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(WTERMSIG(status), number);
    EXPECT_THAT(contents(path_), HasSubstr("1 exchange in 1 ms")) << number;
  }
}

TEST_F(SummaryOutputTest, AnInstructionThatFailsEndsTheProcess) {
  const int status = ends_by([](SummaryOutput&) {
    volatile int* nowhere = nullptr;
    *nowhere = 1;
  });
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_THAT(contents(path_), HasSubstr("ended by SIGSEGV"));
}

TEST_F(SummaryOutputTest, LeavesTheProgramsOwnHandlersAlone) {
  const int status = ends_by([](SummaryOutput& output) {
    output.say("at MPI_Finalize");
    signal(SIGTERM, [](int) { _exit(7); });
    raise(SIGTERM);
  });
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST_F(SummaryOutputTest, AChildSaysNothing) {
  for (const int number : {0, SIGTERM}) {
    ends_by([number](SummaryOutput& output) {
      const pid_t child = fork();
      if (child == 0) {
        if (number != 0) raise(number);
        output.say("at the end, without MPI_Finalize");
        output.refresh(2 * base::kSecond);
        _exit(0);
      }
      waitpid(child, nullptr, 0);
    });
    EXPECT_EQ(contents(path_), "") << number;
  }
}

TEST_F(SummaryOutputTest, TheFileIsWrittenNowAndThen) {
  ends_by([this](SummaryOutput& output) {
    output.refresh(base::kSecond / 2);  // too early
    _exit(access(path_.c_str(), F_OK) == 0 ? 1 : 0);
  });
  EXPECT_EQ(contents(path_), "");
  ends_by([](SummaryOutput& output) { output.refresh(2 * base::kSecond); });
  EXPECT_THAT(contents(path_), HasSubstr("so far"));
}

TEST_F(SummaryOutputTest, AnUnwritableFileIsNoticed) {
  Tally tally;
  tally.begin(0);
  SummaryOutput output(tally);
  output.begin("/nowhere/at/all", 0, 4, false);
  output.say("at MPI_Finalize");
  EXPECT_TRUE(output.failed());
}

}  // namespace
}  // namespace alm::tally
