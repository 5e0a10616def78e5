// Two ends over a line that loses, delays and duplicates: everything comes, and repeats exactly.
#include "tcp/connection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace alm::tcp {
namespace {

using base::kMillisecond;
using base::kSecond;
using base::Nanos;

struct Line {
  Nanos delay = kMillisecond, per_segment = 100'000;
  std::uint32_t lost_of_1000 = 0, twice_of_1000 = 0;
  std::uint64_t seed = 1;
};

class Pair {
 public:
  Pair(const Config& config, const Line& line)
      : ends_{Connection(config), Connection(config)}, line_(line), random_(line.seed) {}

  Connection& end(int which) { return ends_[which]; }
  Nanos now() const { return now_; }

  // Until everything that was written has come; false: nothing happens any more, or never ends.
  bool run(Position forth, Position back) {
    while (ends_[1].receiver().received() < forth || ends_[0].receiver().received() < back) {
      send();
      Nanos next = std::min(ends_[0].deadline(), ends_[1].deadline());
      for (int i = 0; i < 2; ++i) {
        if (ends_[i].wants_to_send()) next = std::min(next, free_[i]);
      }
      for (const Flight& one : flights_) next = std::min(next, one.at);
      if (next > 1000 * kSecond) return false;
      now_ = std::max(now_, next);
      for (std::size_t i = 0; i < flights_.size();) {
        if (flights_[i].at > now_) {
          ++i;
          continue;
        }
        const Flight one = flights_[i];
        flights_.erase(flights_.begin() + static_cast<std::ptrdiff_t>(i));
        ends_[one.to].received(one.segment, now_);
      }
      for (Connection& one : ends_) {
        if (one.deadline() <= now_) one.on_timer(now_);
      }
    }
    return true;
  }

 private:
  struct Flight {
    Nanos at;
    int to;
    Segment segment;
  };

  std::uint64_t draw() {
    random_ = random_ * 6364136223846793005u + 1442695040888963407u;
    return (random_ >> 33) % 1000;
  }

  void send() {
    for (int from = 0; from < 2; ++from) {
      while (free_[from] <= now_ && ends_[from].wants_to_send()) {
        const Segment segment = ends_[from].next(now_);
        free_[from] = now_ + line_.per_segment;
        if (draw() >= line_.lost_of_1000) {
          flights_.push_back({now_ + line_.delay, 1 - from, segment});
          if (draw() < line_.twice_of_1000) flights_.push_back(flights_.back());
        }
      }
    }
  }

  Connection ends_[2];
  Line line_;
  std::uint64_t random_;
  std::vector<Flight> flights_;
  Nanos free_[2] = {0, 0};
  Nanos now_ = 0;
};

TEST(Connection, AMessageOverAnIdleLineTakesItsWindows) {
  Config config;
  config.segment_bytes = 1000;
  Pair pair(config, {.delay = 10 * kMillisecond, .per_segment = 1});
  pair.end(0).write(30'000);
  ASSERT_TRUE(pair.run(30'000, 0));
  // Ten at once, twenty a round trip later.
  EXPECT_EQ(pair.now() / kMillisecond, 30);
  EXPECT_EQ(pair.end(0).sender().counters().segments, 30u);
}

TEST(Connection, EverythingComesWhateverTheLineDoes) {
  for (const Control control : {Control::kNewReno, Control::kCubic, Control::kDctcp}) {
    for (const bool sack : {true, false}) {
      for (const bool rack : {true, false}) {
        for (std::uint64_t seed = 1; seed <= 10; ++seed) {
          Config config;
          config.control = control;
          config.sack = sack;
          config.rack = rack;
          Pair pair(config, {.lost_of_1000 = 100, .twice_of_1000 = 20, .seed = seed});
          pair.end(0).write(300'000);
          pair.end(1).write(150'000);
          EXPECT_TRUE(pair.run(300'000, 150'000))
              << "control " << static_cast<int>(control) << " sack " << sack << " rack " << rack
              << " seed " << seed;
        }
      }
    }
  }
}

TEST(Connection, RunsRepeatExactly) {
  const auto run = [] {
    Config config;
    Pair pair(config, {.lost_of_1000 = 50, .seed = 7});
    pair.end(0).write(1'000'000);
    pair.end(1).write(1'000'000);
    EXPECT_TRUE(pair.run(1'000'000, 1'000'000));
    const auto& counters = pair.end(0).sender().counters();
    return std::vector<std::int64_t>{pair.now(), counters.segments, counters.resent,
                                     counters.timeouts, counters.probes};
  };
  EXPECT_EQ(run(), run());
}

TEST(Connection, TimeLossesAndProbesSpareTimeouts) {
  std::uint32_t timeouts[2] = {0, 0};
  for (const bool rack : {false, true}) {
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
      Config config;
      config.rack = rack;
      Pair pair(config, {.lost_of_1000 = 50, .seed = seed});
      pair.end(0).write(50'000);
      EXPECT_TRUE(pair.run(50'000, 0));
      timeouts[rack ? 1 : 0] += pair.end(0).sender().counters().timeouts;
    }
  }
  EXPECT_GT(timeouts[0], 2 * timeouts[1]);
}

TEST(Connection, AnEndStaysSmall) {
  // A thousand hosts have a million of them.
  EXPECT_LE(sizeof(Connection), 512u);
}

}  // namespace
}  // namespace alm::tcp
