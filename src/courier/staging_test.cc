// Arguments as plain bytes: what is copied, what is not, and what a type that cannot be packed
// does.
#include "courier/staging.h"

#include <gtest/gtest.h>

#include <numeric>

#include "courier/block_staging.h"
#include "job/fake_mpi_test_ops.h"

namespace alm::courier {
namespace {

constexpr std::uint32_t kRanks = 3;
constexpr std::uint32_t kSelf = 1;
constexpr std::int64_t kBytes = 4;
constexpr job::TypeHandle kScattered = 7;  // FakeMpiOps packs it

class StagingTest : public testing::Test {
 protected:
  StagingTest() { std::iota(send_.begin(), send_.end(), char{1}); }

  job::TypedBuffer buffer(std::vector<char>& bytes, job::TypeHandle type = 0) {
    return {bytes.data(), kBytes, type, 1, 1};
  }
  AlltoallCall call(job::TypeHandle send_type, job::TypeHandle recv_type) {
    AlltoallCall made;
    made.send = buffer(send_, send_type);
    made.recv = buffer(recv_, recv_type);
    return made;
  }
  const void* at(const std::vector<char>& bytes) const { return bytes.data(); }

  job::FakeJob job_{kRanks};
  job::FakeMpiOps ops_{job_, 0};
  std::vector<char> send_ = std::vector<char>(kRanks * kBytes);
  std::vector<char> recv_ = std::vector<char>(kRanks * kBytes);
  Staging staging_;
};

TEST_F(StagingTest, ContiguousBuffersAreUsedWhereTheyLie) {
  ASSERT_EQ(staging_.begin(ops_, call(0, 0), kRanks, kSelf), job::kMpiSuccess);
  EXPECT_EQ(static_cast<const void*>(staging_.send()), at(send_));
  EXPECT_EQ(static_cast<const void*>(staging_.recv()), at(recv_));
  for (std::size_t i = kSelf * kBytes; i < (kSelf + 1) * kBytes; ++i) EXPECT_EQ(recv_[i], send_[i]);
}

TEST_F(StagingTest, OthersArePackedAndUnpacked) {
  const AlltoallCall scattered = call(kScattered, kScattered);
  ASSERT_EQ(staging_.begin(ops_, scattered, kRanks, kSelf), job::kMpiSuccess);
  EXPECT_NE(static_cast<const void*>(staging_.send()), at(send_));
  EXPECT_EQ(std::memcmp(staging_.send(), send_.data(), send_.size()), 0);
  std::memset(staging_.recv(), 9, recv_.size());
  ASSERT_EQ(staging_.finish(ops_, scattered, kRanks), job::kMpiSuccess);
  EXPECT_EQ(recv_, std::vector<char>(recv_.size(), 9));
}

TEST_F(StagingTest, InPlaceACopyGoesOut) {
  AlltoallCall in_place = call(0, 0);
  in_place.in_place = true;
  recv_ = send_;
  in_place.recv = buffer(recv_);
  ASSERT_EQ(staging_.begin(ops_, in_place, kRanks, kSelf), job::kMpiSuccess);
  EXPECT_NE(static_cast<const void*>(staging_.send()), at(recv_));
  std::memset(staging_.recv(), 0, recv_.size());
  EXPECT_EQ(std::memcmp(staging_.send(), send_.data(), send_.size()), 0);
}

TEST_F(StagingTest, WhatCannotBePackedOrUnpackedIsAnErrorCode) {
  job_.fail({0, "pack", 1});
  EXPECT_EQ(staging_.begin(ops_, call(kScattered, 0), kRanks, kSelf), job::kFakeError);
  job_.fail({0, "unpack", 1});
  ASSERT_EQ(staging_.begin(ops_, call(0, kScattered), kRanks, kSelf), job::kMpiSuccess);
  EXPECT_EQ(staging_.finish(ops_, call(0, kScattered), kRanks), job::kFakeError);
}

class BlockStagingTest : public StagingTest {
 protected:
  void describe(job::TypeHandle send_type, job::TypeHandle recv_type) {
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      out_.push_back({send_.data() + rank * kBytes, kBytes, send_type, 1, 1});
      in_.push_back({recv_.data() + rank * kBytes, kBytes, recv_type, 1, 1});
    }
    call_.name = "MPI_Alltoallv";
    call_.send = out_;
    call_.recv = in_;
  }

  std::vector<job::TypedBuffer> out_, in_;
  BlockCall call_;
  BlockStaging blocks_;
};

TEST_F(BlockStagingTest, ContiguousBlocksAreUsedWhereTheyLie) {
  describe(0, 0);
  ASSERT_EQ(blocks_.begin(ops_, call_, kRanks, kSelf), job::kMpiSuccess);
  EXPECT_EQ(static_cast<const void*>(blocks_.send().at(2)), send_.data() + 2 * kBytes);
  EXPECT_EQ(static_cast<const void*>(blocks_.recv().at(0)), at(recv_));
  EXPECT_EQ(recv_[kSelf * kBytes], send_[kSelf * kBytes]) << "the own block is copied at once";
}

TEST_F(BlockStagingTest, OnlyBlocksOfOtherTypesAreCopied) {
  describe(0, kScattered);
  out_[2].type = kScattered;
  ASSERT_EQ(blocks_.begin(ops_, call_, kRanks, kSelf), job::kMpiSuccess);
  EXPECT_EQ(static_cast<const void*>(blocks_.send().at(0)), at(send_));
  EXPECT_EQ(std::memcmp(blocks_.send().at(2), send_.data() + 2 * kBytes, kBytes), 0);
  std::memset(blocks_.recv().at(2), 9, kBytes);
  ASSERT_EQ(blocks_.finish(ops_, call_), job::kMpiSuccess);
  EXPECT_EQ(recv_[2 * kBytes], 9);
}

TEST_F(BlockStagingTest, BuffersOfOneRankTravelTogetherInTheirOrder) {
  describe(0, 0);
  const std::vector<std::uint32_t> ranks = {2, 0, 2, kSelf};
  out_.resize(4, out_[0]);
  in_.resize(4, in_[0]);
  in_[3].base = in_[1].base;
  call_.send = out_;
  call_.recv = in_;
  call_.send_to = call_.recv_from = ranks;
  ASSERT_EQ(blocks_.begin(ops_, call_, kRanks, kSelf), job::kMpiSuccess);
  EXPECT_EQ(blocks_.send().size_of(2), 2 * kBytes);
  EXPECT_EQ(std::memcmp(blocks_.send().at(2), out_[0].base, kBytes), 0);
  EXPECT_EQ(std::memcmp(blocks_.send().at(2) + kBytes, out_[2].base, kBytes), 0);
  EXPECT_EQ(static_cast<const void*>(blocks_.send().at(0)), out_[1].base);
  EXPECT_EQ(recv_[kBytes], send_[0]) << "an edge to itself is copied at once";
  std::memset(blocks_.recv().at(2), 8, kBytes);
  std::memset(blocks_.recv().at(2) + kBytes, 9, kBytes);
  ASSERT_EQ(blocks_.finish(ops_, call_), job::kMpiSuccess);
  EXPECT_EQ(recv_[0], 8);
  EXPECT_EQ(recv_[2 * kBytes], 9);
}

TEST_F(BlockStagingTest, WhatCannotBePackedOrUnpackedIsAnErrorCode) {
  describe(kScattered, kScattered);
  job_.fail({0, "pack", 1});
  EXPECT_EQ(blocks_.begin(ops_, call_, kRanks, kSelf), job::kFakeError);
  ASSERT_EQ(blocks_.begin(ops_, call_, kRanks, kSelf), job::kMpiSuccess);
  job_.fail({0, "unpack", 2});  // the first was that of the own block
  EXPECT_EQ(blocks_.finish(ops_, call_), job::kFakeError);
}

}  // namespace
}  // namespace alm::courier
