#include "transport/pace.h"

#include <gtest/gtest.h>

namespace alm::transport {
namespace {

constexpr base::Nanos kPacedNanos = 1000;
constexpr std::uint32_t kFull = 100;  // bytes of payload in a full frame

Config config_of(bool yields = false) {
  Config config;
  config.datagram_bytes = kFull + wire::kHeaderBytes;
  config.pace = kPacedNanos;
  config.pace_burst_packets = 3;
  config.pace_yields = yields;
  return config;
}

TEST(Pace, DoesNotRuleUnlessItIsSet) {
  EXPECT_FALSE(Pace(Config{}).rules());
  EXPECT_TRUE(Pace(config_of()).rules());
}

TEST(Pace, AFullFrameLeavesEveryPace) {
  Pace pace(config_of());
  pace.begin(0);
  EXPECT_EQ(pace.due_at(), 0);
  for (int i = 1; i < 10; ++i) {
    pace.sent(pace.due_at(), kFull, true);
    EXPECT_EQ(pace.due_at(), i * kPacedNanos);
  }
}

TEST(Pace, WhoIsLateMakesUpForABurst) {
  Pace pace(config_of());
  pace.begin(0);
  const base::Nanos late = 100 * kPacedNanos;
  int at_once = 0;
  for (; pace.due_at() <= late; ++at_once) pace.sent(late, kFull, true);
  EXPECT_EQ(at_once, 4) << "the one that is due, and three";
  EXPECT_EQ(pace.due_at(), late + kPacedNanos);
}

TEST(Pace, AShortPacketTakesLess) {
  Config config = config_of();
  const std::uint64_t frame = config.datagram_bytes + kFramingBytes;
  Pace pace(config);
  pace.begin(0);
  pace.sent(0, 10, true);
  EXPECT_EQ(pace.due_at(),
            kPacedNanos * static_cast<base::Nanos>(frame - 90) / static_cast<base::Nanos>(frame));
}

TEST(Pace, TheEndOfALongerBlockCountsForMoreWhereItIsSaid) {
  Config config = config_of();
  config.pace_end_least = 1;
  Pace pace(config);
  pace.begin(0);
  pace.sent(0, 10, false);
  EXPECT_LT(pace.due_at(), kPacedNanos) << "the only packet of its block";
  pace.begin(0);
  pace.sent(0, 10, true);
  EXPECT_EQ(pace.due_at(), kPacedNanos);
}

TEST(Pace, SlowsDownWhereMuchIsLostAndRecovers) {
  Pace pace(config_of(true));
  pace.begin(0);
  const auto send = [&](int packets, int one_lost_in) {
    for (int i = 1; i <= packets; ++i) {
      if (one_lost_in > 0 && i % one_lost_in == 0) pace.lost();
      pace.sent(pace.due_at(), kFull, true);
    }
  };
  send(64, 17);
  EXPECT_FALSE(pace.slowed()) << "less than one in 16";
  send(64, 8);
  EXPECT_TRUE(pace.slowed());
  EXPECT_EQ(pace.time_of(kFull + wire::kHeaderBytes + kFramingBytes), kPacedNanos * 5 / 4);
  send(64 * 100, 8);
  EXPECT_EQ(pace.time_of(kFull + wire::kHeaderBytes + kFramingBytes), 8 * kPacedNanos);
  send(64 * 100, 0);
  EXPECT_FALSE(pace.slowed());
}

TEST(Pace, LooksOnceForWhatIsSentInARoundTrip) {
  Config config = config_of(true);
  config.round_trip = 1000 * kPacedNanos;
  Pace pace(config);
  pace.begin(0);
  for (int i = 0; i < 999; ++i) {
    pace.lost();
    pace.sent(pace.due_at(), kFull, true);
  }
  EXPECT_FALSE(pace.slowed());
  pace.sent(pace.due_at(), kFull, true);
  EXPECT_TRUE(pace.slowed());
  pace.forget();
  EXPECT_FALSE(pace.slowed());
}

}  // namespace
}  // namespace alm::transport
