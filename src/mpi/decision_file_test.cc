#include "mpi/decision_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace alm::mpi {
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

TEST_F(DecisionFile, WhatCannotBeReadOrWrittenIsAnError) {
  EXPECT_FALSE(read_decisions(folder_));
  std::filesystem::create_symlink(path("loop"), path("loop"));
  EXPECT_FALSE(read_decisions(path("loop"))) << "there is something, which cannot be read";
  EXPECT_FALSE(write_decisions(path("no/such/folder"), {}));
  std::ofstream(path("binary")) << std::string("\0\xff\x01", 3);
  EXPECT_FALSE(read_decisions(path("binary")));
}

}  // namespace
}  // namespace alm::mpi
