#include "transport/silence.h"

#include <gtest/gtest.h>

namespace alm::transport {
namespace {

constexpr base::Nanos kSecond = base::kSecond;

class SilenceTest : public testing::Test {
 protected:
  SilenceTest() { silence_.begin(0); }
  Silence silence_{Config{}};
  Peer peer_;
};

TEST_F(SilenceTest, WarnsOnceAndFailsLater) {
  EXPECT_FALSE(silence_.judge(9 * kSecond, 1, &peer_));
  const auto warning = silence_.judge(10 * kSecond, 1, &peer_);
  ASSERT_TRUE(warning);
  EXPECT_FALSE(warning->fatal);
  EXPECT_FALSE(silence_.judge(20 * kSecond, 1, &peer_));
  const auto failure = silence_.judge(300 * kSecond, 1, &peer_);
  ASSERT_TRUE(failure);
  EXPECT_TRUE(failure->fatal);
  EXPECT_EQ(failure->silent, 300 * kSecond);
}

TEST_F(SilenceTest, WhoIsHeardMayBeSilentAgain) {
  EXPECT_TRUE(silence_.judge(10 * kSecond, 1, &peer_));
  silence_.heard(11 * kSecond, &peer_);
  EXPECT_FALSE(silence_.judge(20 * kSecond, 1, &peer_));
  EXPECT_TRUE(silence_.judge(21 * kSecond, 1, &peer_));
}

TEST_F(SilenceTest, TimeInWhichNobodyReadDoesNotCount) {
  silence_.was_deaf(5 * kSecond);
  EXPECT_FALSE(silence_.judge(14 * kSecond, 1, &peer_));
  EXPECT_TRUE(silence_.judge(15 * kSecond, 1, &peer_));
}

TEST_F(SilenceTest, IsLookedForNowAndThenAndAtOnceAfterANotice) {
  EXPECT_TRUE(silence_.looks(0));
  silence_.looked(0);
  EXPECT_FALSE(silence_.looks(base::kMillisecond));
  silence_.told(base::kMillisecond, 2, 17);
  EXPECT_TRUE(silence_.looks(base::kMillisecond));
  silence_.told(2 * base::kMillisecond, 3, 18);
  EXPECT_EQ(silence_.told()->peer, 2u) << "the first notice counts";
  EXPECT_EQ(silence_.told()->told, 17u);
}

}  // namespace
}  // namespace alm::transport
