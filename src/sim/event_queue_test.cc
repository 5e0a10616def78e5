#include "sim/event_queue.h"

#include <gtest/gtest.h>

#include <map>

#include "sim/random.h"

namespace alm::sim {
namespace {

// Against a map keyed by (time, order): gaps from none to seconds, so that the width changes and
// the far heap is used.
TEST(EventQueue, KeepsTotalOrder) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    Random random(seed);
    EventQueue queue;
    std::map<std::pair<Picos, std::uint64_t>, std::uint32_t> expected;
    std::uint32_t number = 0;
    Picos now = 0;
    for (int step = 0; step < 400'000; ++step) {
      const bool busy = (step / 100'000) % 2 == 0;
      if (expected.empty() || (random.below(2) == 0 && expected.size() < 5000)) {
        const Picos scale = busy ? 20'000 : 50'000'000;
        Picos when = now + static_cast<Picos>(random.below(4) * random.below(scale));
        if (random.below(100) == 0) when += kPicosPerSecond;
        queue.push(when, EventKind::kArrive, number & 0xFFFFFF, number);
        expected[{when, number}] = number;
        ++number;
        continue;
      }
      const Event event = queue.pop();
      const auto first = expected.begin();
      ASSERT_EQ(event.time, first->first.first);
      ASSERT_EQ(event.packet, first->second);
      ASSERT_EQ(event.kind, EventKind::kArrive);
      now = event.time;
      expected.erase(first);
    }
    EXPECT_EQ(queue.size(), expected.size());
  }
}

TEST(EventQueue, EqualTimesKeepTheirOrder) {
  EventQueue queue;
  for (std::uint32_t i = 0; i < 1000; ++i) queue.push(5'000'000, EventKind::kPull, 7, i);
  for (std::uint32_t i = 0; i < 1000; ++i) {
    const Event event = queue.pop();
    EXPECT_EQ(event.packet, i);
    EXPECT_EQ(event.target, 7u);
    if (i == 500) queue.push(event.time, EventKind::kPull, 7, 1000);
  }
  EXPECT_EQ(queue.pop().packet, 1000u);
  EXPECT_TRUE(queue.empty());
}

TEST(Random, IsTheSameEverywhere) {
  Random random(42);
  EXPECT_EQ(random.next(), 6332618229526065668u);
  EXPECT_EQ(random.exponential(1'000'000), 45262);
}

TEST(Random, ExponentialHasItsMean) {
  Random random(1);
  constexpr int kDraws = 1'000'000;
  double sum = 0, above = 0;
  for (int i = 0; i < kDraws; ++i) {
    const auto value = static_cast<double>(random.exponential(1'000'000));
    sum += value;
    above += value > 2e6 ? 1 : 0;
  }
  EXPECT_NEAR(sum / kDraws, 1e6, 3e3);
  EXPECT_NEAR(above / kDraws, 0.1353, 0.001);  // e^-2
}

}  // namespace
}  // namespace alm::sim
