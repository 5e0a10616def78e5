#include "transport/io/hops.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace alm::io {
namespace {

Address address(std::uint16_t port) { return make_address("198.18.0.1", port).value(); }

std::vector<HopQuestion> questions(std::uint16_t count) {
  std::vector<HopQuestion> all;
  for (std::uint16_t i = 0; i < count; ++i) all.push_back({0, address(1000 + i), 2});
  return all;
}

TEST(HopQuestions, FewAreUnderWayAtOnce) {
  const auto asked = questions(40);
  HopQuestions hops(asked, 0, 100);
  std::size_t under_way = 0;
  while (hops.next(0)) ++under_way;
  EXPECT_EQ(under_way, HopQuestions::kUnderWay);
  hops.answered({0, address(1003), address(0)});
  const auto next = hops.next(10);
  ASSERT_TRUE(next);
  EXPECT_EQ(port_of(next->to), 1000 + HopQuestions::kUnderWay);
  EXPECT_EQ(hops.routers()[3], address(0));
  EXPECT_EQ(hops.routers()[4].length, 0U);
}

TEST(HopQuestions, OneWithoutAnAnswerIsAskedAgainAFewTimes) {
  const auto asked = questions(1);
  HopQuestions hops(asked, 0, 100);
  for (std::uint32_t i = 0; i < HopQuestions::kTries; ++i) {
    EXPECT_TRUE(hops.next(100 * i));
    EXPECT_FALSE(hops.next(100 * i + 99));
    EXPECT_EQ(hops.deadline(), 100 * (i + 1));
  }
  EXPECT_FALSE(hops.next(100 * HopQuestions::kTries));
  EXPECT_TRUE(hops.done(100 * HopQuestions::kTries));
}

TEST(HopQuestions, AnAnswerCountsForItsFiveTupleOnly) {
  const std::vector<HopQuestion> asked = {{0, address(1000), 2}, {1, address(1000), 2}};
  HopQuestions hops(asked, 0, 100);
  while (hops.next(0)) continue;
  hops.answered({1, address(1000), address(0)});
  hops.answered({1, address(1001), address(0)});
  EXPECT_EQ(hops.routers()[0].length, 0U);
  EXPECT_NE(hops.routers()[1].length, 0U);
  EXPECT_FALSE(hops.done(50));
  hops.answered({0, address(1000), address(0)});
  EXPECT_TRUE(hops.done(50));
}

TEST(HopQuestions, AHostThatRefusesIsAnAnswerWithoutARouter) {
  const auto asked = questions(1);
  HopQuestions hops(asked, 0, 100);
  EXPECT_TRUE(hops.next(0));
  hops.answered({0, address(1000), Address{}});
  EXPECT_TRUE(hops.done(1));
  EXPECT_EQ(hops.routers()[0].length, 0U);
}

// Over loopback: the host itself refuses it at once.
TEST(HopQuestions, ARefusalIsReadFromTheErrorQueue) {
  const int fd = ::socket(AF_INET, SOCK_DGRAM, 0);
  const int on = 1;
  ::setsockopt(fd, IPPROTO_IP, IP_RECVERR, &on, sizeof on);
  const Address to = make_address("127.0.0.1", 9).value();
  ASSERT_TRUE(send_to_hop(fd, to, 1));
  std::vector<HopAnswer> answers;
  for (int i = 0; i < 5000 && answers.empty(); ++i) {
    read_hops(fd, 3, answers);
    ::usleep(1000);
  }
  ::close(fd);
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].socket, 3);
  EXPECT_EQ(answers[0].to, to);
  EXPECT_EQ(answers[0].router.length, 0U);
}

TEST(HopQuestions, AllIsOverAfterAWhile) {
  const auto asked = questions(1000);
  HopQuestions hops(asked, 0, 100);
  EXPECT_FALSE(hops.done(100 * HopQuestions::kPatiences - 1));
  EXPECT_TRUE(hops.done(100 * HopQuestions::kPatiences));
}

}  // namespace
}  // namespace alm::io
