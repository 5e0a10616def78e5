#include "transport/probes.h"

#include <gtest/gtest.h>

namespace alm::transport {
namespace {

class ProbesTest : public testing::Test {
 protected:
  void send(base::Nanos now, std::uint32_t next) {
    probes_.sent(now, &peer_, &aside_, false, next, 10);
  }
  bool answers(std::uint32_t echo) const { return Probes::answers(peer_, aside_, false, echo); }
  Probes probes_;
  Peer peer_;
  Aside aside_;
};

TEST_F(ProbesTest, APeerIsQueuedOnce) {
  probes_.queue(3, &peer_);
  probes_.queue(3, &peer_);
  EXPECT_EQ(probes_.take(), 3u);
  EXPECT_FALSE(probes_.queued());
}

TEST_F(ProbesTest, AnAnswerToAnEarlierProbeSaysAsMuchIfNothingWasSentSince) {
  send(0, 5);
  send(100, 5);
  EXPECT_TRUE(answers(2));
  EXPECT_TRUE(answers(1));
  EXPECT_FALSE(answers(0));
  send(200, 6);
  EXPECT_TRUE(answers(3));
  EXPECT_FALSE(answers(2)) << "packet 5 was sent since";
}

TEST_F(ProbesTest, ProbesLeaveNoCloserTogetherThanPackets) {
  send(100, 5);
  EXPECT_EQ(probes_.next_at(), 110);
  EXPECT_EQ(peer_.quiet_since, 100);
  EXPECT_EQ(peer_.backoff, 1);
}

TEST_F(ProbesTest, OnlyTheFirstOfSeveralIsTimed) {
  send(0, 5);
  send(100, 5);
  EXPECT_EQ(Probes::took(150, peer_, &aside_, 1), 150);
  EXPECT_EQ(Probes::took(160, peer_, &aside_, 2), std::nullopt);
  send(200, 5);
  EXPECT_EQ(Probes::took(230, peer_, &aside_, 3), 30);
}

TEST_F(ProbesTest, AllAreAskedOnceInAnExchange) {
  EXPECT_TRUE(probes_.ask_all());
  EXPECT_FALSE(probes_.ask_all());
  probes_.begin();
  EXPECT_TRUE(probes_.ask_all());
}

}  // namespace
}  // namespace alm::transport
