#include "session/decision_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace alm::session {
namespace {

tuning::Decision decision(std::uint64_t least) {
  return {{"0.1.0", "Open MPI v5.0.8", "00c0ffee"},
          std::string(tuning::kCallsOfOneSize),
          32,
          32,
          least,
          2 * least - 1,
          "library",
          "the fastest of 1",
          {{"library", "the MPI library", 14'200'000, 8, 0}}};
}

class DecisionFile : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  std::string folder_ = [] {
    std::string made = testing::TempDir() + "decisionsXXXXXX";
    return std::string(mkdtemp(made.data()));
  }();
};

TEST_F(DecisionFile, IsWrittenAndRead) {
  const auto none = read_decisions(path("none"));
  ASSERT_TRUE(none);
  EXPECT_TRUE(none.value().empty());
  ASSERT_TRUE(write_decisions(path("d"), std::vector{decision(128)}));
  ASSERT_TRUE(write_decisions(path("d"), std::vector{decision(128), decision(1)}));
  const auto back = read_decisions(path("d"));
  ASSERT_TRUE(back);
  EXPECT_EQ(back.value().size(), 2u);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(DecisionFile, KeepsWhatOtherJobsAdded) {
  constexpr int kJobs = 8, kEach = 5;
  std::vector<pid_t> jobs;
  for (int job = 0; job < kJobs; ++job) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      bool added = true;
      for (int i = 0; i < kEach; ++i) {
        const std::uint64_t least = 1u + static_cast<unsigned>(job * kEach + i);
        added = added && add_decisions(path("d"), std::vector{decision(least)}).ok();
      }
      std::_Exit(added ? 0 : 1);
    }
    jobs.push_back(pid);
  }
  for (const pid_t pid : jobs) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(read_decisions(path("d")).value().size(), std::size_t{kJobs} * kEach);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(DecisionFile, HoldsTheLatestDecisionsThatItCanReadAgain) {
  std::vector<tuning::Decision> many;
  for (std::uint64_t i = 1; i <= 1024; ++i) {
    many.push_back(decision(i));
    many.back().ways.resize(16, many.back().ways.front());
    for (auto& way : many.back().ways) way.name = std::string(200, 'x');
  }
  ASSERT_TRUE(write_decisions(path("d"), many));
  EXPECT_LE(std::filesystem::file_size(path("d")), tuning::kDecisionFileBytesMax);
  ASSERT_TRUE(add_decisions(path("d"), std::vector{decision(2000)}));
  const auto back = read_decisions(path("d"));
  ASSERT_TRUE(back);
  EXPECT_GT(back.value().size(), 200u);
  EXPECT_EQ(back.value().back().least_bytes, 2000u);
  EXPECT_EQ(std::prev(back.value().end(), 2)->least_bytes, 1024u);
}

TEST_F(DecisionFile, AFileThatIsNoneIsLeftAlone) {
  std::ofstream(path("d")) << "something else";
  EXPECT_FALSE(add_decisions(path("d"), std::vector{decision(1)}));
  EXPECT_EQ(std::filesystem::file_size(path("d")), 14u);
}

TEST_F(DecisionFile, IsWrittenWhereALinkLeads) {
  ASSERT_TRUE(write_decisions(path("d"), std::vector{decision(1)}));
  std::filesystem::create_symlink(path("d"), path("link"));
  ASSERT_TRUE(add_decisions(path("link"), std::vector{decision(2)}));
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  EXPECT_EQ(read_decisions(path("d")).value().size(), 2u);
}

TEST_F(DecisionFile, ADeviceOrAPipeIsNeitherReadNorReplaced) {
  const std::string pipe = path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const auto unreadable : {Unreadable::kKept, Unreadable::kReplaced}) {
    EXPECT_FALSE(read_decisions(pipe).ok());
    EXPECT_FALSE(add_decisions(pipe, {}, unreadable).ok());
    EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  }
}

TEST_F(DecisionFile, WhatCannotBeReadOrWrittenIsAnError) {
  EXPECT_FALSE(read_decisions(folder_));
  std::filesystem::create_symlink(path("loop"), path("loop"));
  EXPECT_FALSE(read_decisions(path("loop"))) << "there is something, which cannot be read";
  EXPECT_FALSE(write_decisions(path("no/such/folder"), {}));
  std::ofstream(path("binary")) << std::string("\0\xff\x01", 3);
  EXPECT_FALSE(read_decisions(path("binary")));
}

}  // namespace
}  // namespace alm::session
