#include "mpi/settings.h"

#include <gtest/gtest.h>

namespace alm::mpi {
namespace {

TEST(Settings, EveryTimeOfTheNetworkGrowsWithTheTimeScale) {
  auto options = base::load_options({}).value();
  const transport::Config usual;
  const transport::Config same = channel_config(options, nullptr, 1472, 1u << 20);
  EXPECT_EQ(same.idle_ack_delay, usual.idle_ack_delay);
  EXPECT_EQ(same.peer_timeout, usual.peer_timeout);
  ASSERT_TRUE(base::set_option(options, "time_scale=2.5"));
  ASSERT_TRUE(base::set_option(options, "peer_warning_s=4"));
  const transport::Config slow = channel_config(options, nullptr, 1472, 1u << 20);
  EXPECT_EQ(slow.timer_jitter, usual.timer_jitter * 5 / 2);
  EXPECT_EQ(slow.timer_jitter_max, usual.timer_jitter_max * 5 / 2);
  EXPECT_EQ(slow.idle_ack_delay, usual.idle_ack_delay * 5 / 2);
  EXPECT_EQ(slow.idle_probe_delay, usual.idle_probe_delay * 5 / 2);
  EXPECT_EQ(slow.keep_alive, usual.keep_alive * 5 / 2);
  EXPECT_EQ(slow.peer_warning, 10 * base::kSecond);
  EXPECT_EQ(slow.peer_timeout, usual.peer_timeout * 5 / 2);
  EXPECT_EQ(hello_timeout(options), 7500 * base::kMillisecond);
  // What is counted in packets is not a time.
  EXPECT_EQ(slow.packet_time, usual.packet_time);
}

}  // namespace
}  // namespace alm::mpi
