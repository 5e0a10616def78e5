#include "clocks/pacer.h"

#include <gtest/gtest.h>

namespace alm::clocks {
namespace {

constexpr base::Nanos kSteps = 10'000;

TEST(Pacer, WithoutRateNeverEnabled) { EXPECT_FALSE(Pacer(0, 3000).enabled()); }

TEST(Pacer, FirstBurstGoesAtOnceThenOnePerCentAboveRate) {
  Pacer pacer(100, 2 * 1514);
  base::Nanos now = base::kSecond;
  std::uint64_t sent = 0;
  while (pacer.room_bytes(now) > 0) {
    pacer.sent(now, 1514);
    ++sent;
  }
  EXPECT_EQ(sent, 2U);
  for (base::Nanos i = 0; i < kSteps; ++i) {
    now = std::max(now, pacer.allowed_at());
    ASSERT_GT(pacer.room_bytes(now), 0U);
    pacer.sent(now, 1514);
    ++sent;
  }
  const double seconds = static_cast<double>(now - base::kSecond) / 1e9;
  EXPECT_NEAR(static_cast<double>(sent) * 1514 * 8 / seconds / 1e6, 101.0, 0.1);
}

TEST(Pacer, RoomIsTheBurstAfterIdle) {
  Pacer pacer(1000, 10'000);
  EXPECT_NEAR(static_cast<double>(pacer.room_bytes(base::kSecond)), 10'000, 2 * 126);
  pacer.sent(base::kSecond, 4'000);
  EXPECT_NEAR(static_cast<double>(pacer.room_bytes(base::kSecond)), 6'000, 2 * 126);
  pacer.sent(base::kSecond, 60'000);
  EXPECT_EQ(pacer.room_bytes(base::kSecond), 0U);
}

TEST(Pacer, DebtIsBounded) {
  Pacer pacer(10, 3028);
  for (int i = 0; i < 100'000; ++i) pacer.sent(base::kSecond, 1514);
  EXPECT_LT(pacer.allowed_at(), base::kSecond + 60 * base::kMillisecond);
}

}  // namespace
}  // namespace alm::clocks
