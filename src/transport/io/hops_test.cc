#include "transport/io/hops.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace alm::io {
namespace {

// Over loopback: the host itself refuses it at once.
TEST(Hops, ARefusalIsReadFromTheErrorQueue) {
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

}  // namespace
}  // namespace alm::io
