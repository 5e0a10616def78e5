#include "clocks/send_log.h"

#include <gtest/gtest.h>

namespace alm::clocks {
namespace {

constexpr std::uint32_t kPeers = 4;
constexpr std::uint32_t kHeld = 64;  // for a window of up to 32

// Packet by packet to each peer in turn, every 10 ns.
SendLog filled(std::uint32_t packets) {
  SendLog log(8);
  for (std::uint32_t i = 0; i < packets; ++i) log.add(10 * i, i % kPeers, i / kPeers);
  return log;
}

TEST(SendLog, KnowsWhenAPacketWasSent) {
  const SendLog log = filled(20);
  EXPECT_EQ(log.sent_at(0, 0), 0);
  EXPECT_EQ(log.sent_at(3, 4), 190);
}

TEST(SendLog, KnowsNothingOfWhatWasNotSent) {
  const SendLog log = filled(20);
  EXPECT_FALSE(log.sent_at(0, 5));
  EXPECT_FALSE(log.sent_at(kPeers, 0));
  EXPECT_FALSE(SendLog(8).sent_at(0, 0));
}

TEST(SendLog, ForgetsWhatIsLongAgo) {
  const SendLog log = filled(kHeld + kPeers);
  EXPECT_FALSE(log.sent_at(0, 0));
  EXPECT_EQ(log.sent_at(0, 1), 40);
}

TEST(SendLog, HoldsTwiceWhatIsUnderWay) {
  SendLog log(100);
  for (std::uint32_t i = 0; i < 200; ++i) log.add(i, 0, i);
  EXPECT_EQ(log.sent_at(0, 0), 0);
}

TEST(SendLog, TellsHowClosePacketsFollowOneAnother) {
  EXPECT_FALSE(filled(kHeld - 1).spacing(10 * kHeld, 8)) << "so few say little";
  EXPECT_EQ(filled(kHeld).spacing(10 * kHeld, 8), 10);
  EXPECT_EQ(filled(3 * kHeld).spacing(10 * 3 * kHeld, 8), 10);
  EXPECT_EQ(filled(kHeld).spacing(20 * kHeld, 8), 20);
}

TEST(SendLog, TellsItOfAnExchangeOfLittleMoreThanTheWindow) {
  SendLog log(800);  // holds 2048
  for (std::uint32_t i = 0; i < 801; ++i) {
    EXPECT_FALSE(log.spacing(10 * i, 800)) << "what leaves at once says nothing of the links";
    log.add(10 * i, 0, i);
  }
  EXPECT_EQ(log.spacing(20 * 801, 800), 20);
}

TEST(SendLog, BeginsAnewWithAnExchange) {
  SendLog log = filled(kHeld);
  log.clear();
  EXPECT_FALSE(log.sent_at(0, 0));
  EXPECT_FALSE(log.spacing(0, 8));
  EXPECT_EQ(log.latest(), 0);
}

}  // namespace
}  // namespace alm::clocks
