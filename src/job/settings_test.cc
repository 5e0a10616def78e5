#include "job/settings.h"

#include <gtest/gtest.h>

namespace alm::job {
namespace {

TEST(Settings, TheWindowYieldsUnlessThatIsTurnedOff) {
  auto options = base::load_options({}).value();
  EXPECT_TRUE(channel_config(options, nullptr, 1472, 1u << 20).yields);
  ASSERT_TRUE(base::set_option(options, "congestion_control=off"));
  EXPECT_FALSE(channel_config(options, nullptr, 1472, 1u << 20).yields);
}

TEST(Settings, PathsAndWhatDoesNotGoWithThem) {
  auto options = base::load_options({}).value();
  EXPECT_EQ(paths_asked(options), std::nullopt);
  EXPECT_TRUE(finds_routes(options));
  EXPECT_EQ(endpoint_options(options, nullptr).paths, 1u);
  EXPECT_EQ(endpoint_options(options, nullptr, 2).paths, 2u);
  EXPECT_EQ(path_rule(options, true), paths::PathRule::kAssigned);
  EXPECT_EQ(path_rule(options, false), paths::PathRule::kLeastLoaded);
  EXPECT_TRUE(check_path_options(options).ok());
  ASSERT_TRUE(base::set_option(options, "paths=12"));
  ASSERT_TRUE(base::set_option(options, "path_policy=bss"));
  ASSERT_TRUE(base::set_option(options, "path_batch=3"));
  const transport::Config config = channel_config(options, nullptr, 1472, 1u << 20);
  EXPECT_EQ(paths_asked(options), 12u);
  EXPECT_EQ(path_rule(options, true), paths::PathRule::kBss);
  EXPECT_EQ(config.path_batch, 3u);
  EXPECT_EQ(endpoint_options(options, nullptr).paths, 8u);  // to choose from
  ASSERT_TRUE(base::set_option(options, "find_ways=off"));
  EXPECT_EQ(endpoint_options(options, nullptr).paths, 4u);
  EXPECT_TRUE(check_path_options(options).ok());
  ASSERT_TRUE(base::set_option(options, "path_batch=13"));
  EXPECT_FALSE(check_path_options(options).ok());
  ASSERT_TRUE(base::set_option(options, "path_batch=0"));
  ASSERT_TRUE(base::set_option(options, "reliability=go-back-n"));
  EXPECT_FALSE(check_path_options(options).ok());
  ASSERT_TRUE(base::set_option(options, "paths=auto"));
  EXPECT_TRUE(check_path_options(options).ok());
  EXPECT_FALSE(finds_routes(options));
}

TEST(Settings, SocketsAreSpreadOverTheLinksOfAHost) {
  auto options = base::load_options({}).value();
  ASSERT_TRUE(base::set_option(options, "paths=2"));
  EXPECT_EQ(endpoint_options(options, nullptr).paths, 4u);  // to choose from
  EXPECT_EQ(endpoint_options(options, nullptr, 2).paths, 2u);
  plan::Tuning tuning;
  tuning.host_rate_mbit_s = 100;
  EXPECT_EQ(endpoint_options(options, &tuning, 2).pace_mbit_s, 200);
  EXPECT_TRUE(endpoint_options(options, &tuning, 2).pace_when_seen);
}

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
  EXPECT_EQ(slow.yield_memory, usual.yield_memory * 5 / 2);
  EXPECT_EQ(slow.peer_warning, 10 * base::kSecond);
  EXPECT_EQ(slow.peer_timeout, usual.peer_timeout * 5 / 2);
  EXPECT_EQ(hello_timeout(options), 7500 * base::kMillisecond);
  // What is counted in packets is not a time.
  EXPECT_EQ(slow.packet_time, usual.packet_time);
}

}  // namespace
}  // namespace alm::job
