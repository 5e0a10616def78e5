#include "paths/policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <queue>
#include <string>
#include <vector>

#include "paths/bss.h"
#include "paths/weights.h"

namespace alm::paths {
namespace {

// Paths as fluid pipes: each carries packets one after the other at a rate of its own (packets per
// time unit of the sender) and a latency. The sender has `window` packets on their way at most.
class FluidPaths {
 public:
  static constexpr double kLatency = 2;
  static constexpr base::Nanos kUnit = 1000;

  FluidPaths(PathPolicy& policy, std::vector<double> rates, std::uint32_t window)
      : policy_(policy),
        rates_(std::move(rates)),
        window_(window),
        free_(rates_.size(), 0),
        sent_(rates_.size(), 0) {}

  void set_rate(std::uint8_t path, double rate) { rates_[path] = rate; }
  // Sends trains of one packet. Returns the time until the last of them has come.
  double send(std::uint32_t packets) {
    const double begun = now_;
    std::fill(sent_.begin(), sent_.end(), 0);
    policy_.begin(0);
    const auto all = all_paths(static_cast<std::uint32_t>(rates_.size()));
    for (; packets > 0; --packets) {
      if (under_way_.size() >= window_) now_ = std::max(now_, under_way_.top().at);
      take_what_came();
      const std::uint8_t path = policy_.choose(all);
      policy_.sent(path);
      ++sent_[path];
      free_[path] = std::max(free_[path], now_) + 1 / rates_[path];
      under_way_.push({free_[path] + kLatency, now_, path});
      now_ += 1;
    }
    while (!under_way_.empty()) {
      now_ = std::max(now_, under_way_.top().at);
      take_what_came();
    }
    return now_ - begun;
  }
  // The share of a path in the latest send().
  double share(std::uint8_t path) const {
    return static_cast<double>(sent_[path]) / std::accumulate(sent_.begin(), sent_.end(), 0.0);
  }
  std::uint32_t paths_used() const {
    return static_cast<std::uint32_t>(
        std::count_if(sent_.begin(), sent_.end(), [](std::uint32_t sent) { return sent > 0; }));
  }

 private:
  struct Packet {
    double at, sent;
    std::uint8_t path;
    friend bool operator>(const Packet& a, const Packet& b) { return a.at > b.at; }
  };
  void take_what_came() {
    while (!under_way_.empty() && under_way_.top().at <= now_) {
      const Packet packet = under_way_.top();
      under_way_.pop();
      policy_.delivered(packet.path, static_cast<base::Nanos>((packet.at - packet.sent) * kUnit));
    }
  }

  PathPolicy& policy_;
  std::vector<double> rates_;
  std::uint32_t window_;
  std::vector<double> free_;
  std::vector<std::uint32_t> sent_;
  std::priority_queue<Packet, std::vector<Packet>, std::greater<>> under_way_;
  double now_ = 0;
};

PathSetup setup_of(PathRule rule, std::uint32_t paths, std::uint32_t batch = 0) {
  return {rule, paths, batch, 3};
}

// Four paths that carry half of what the sender could send each, one of them a twentieth.
double share_of_slow_path(PathRule rule, std::uint32_t batch = 0) {
  const auto policy = make_path_policy(setup_of(rule, 4, batch));
  FluidPaths network(*policy, {0.5, 0.05, 0.5, 0.5}, 16);
  network.send(400);
  network.send(400);
  return network.share(1);
}

TEST(PathPolicies, NamesAreRead) {
  for (const char* name : {"one", "rotate", "random", "least-loaded", "even", "bss", "hsam",
                           "recycled", "bitmap", "assigned"}) {
    const auto rule = parse_path_rule(name);
    ASSERT_TRUE(rule.ok()) << name;
    EXPECT_EQ(name_of(rule.value()), name);
  }
  const auto unknown = parse_path_rule("best");
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().message.find("least-loaded"), std::string::npos);
}

TEST(PathPolicies, NumbersOutOfRangeAreRefused) {
  EXPECT_TRUE(check_paths(32, 32).ok());
  EXPECT_TRUE(check_paths(1, 0).ok());
  EXPECT_FALSE(check_paths(0, 0).ok());
  EXPECT_FALSE(check_paths(33, 1).ok());
  const auto batch = check_paths(4, 5);
  ASSERT_FALSE(batch.ok());
  EXPECT_NE(batch.error().message.find("batch of 5 paths"), std::string::npos);
}

TEST(PathPolicies, NextPathGoesRoundTheSet) {
  EXPECT_EQ(next_path(0b1011, 0), 1);
  EXPECT_EQ(next_path(0b1011, 1), 3);
  EXPECT_EQ(next_path(0b1011, 3), 0);
  EXPECT_EQ(next_path(0b0100, 31), 2);
  EXPECT_EQ(next_path(0x80000001u, 0), 31);
}

// A policy that sees no difference gives every path the same load.
TEST(PathPolicies, EqualPathsCarryTheSame) {
  for (const PathRule rule : {PathRule::kRotate, PathRule::kRandom, PathRule::kLeastLoaded,
                              PathRule::kEven, PathRule::kHsam, PathRule::kBitmap}) {
    const auto policy = make_path_policy(setup_of(rule, 4));
    FluidPaths network(*policy, {0.5, 0.5, 0.5, 0.5}, 16);
    network.send(4000);
    for (std::uint8_t path = 0; path < 4; ++path) {
      EXPECT_NEAR(network.share(path), 0.25, 0.03) << name_of(rule) << " path " << int{path};
    }
  }
}

TEST(PathPolicies, OnlyUsablePathsAreChosen) {
  for (int rule = 0; rule <= static_cast<int>(PathRule::kAssigned); ++rule) {
    const auto policy = make_path_policy(setup_of(static_cast<PathRule>(rule), 12, 3));
    policy->begin(7);
    PathSet used = 0;
    for (int train = 0; train < 2000; ++train) {
      const PathSet usable = train % 100 < 50 ? 0b0101'0000'0010u : 0b1000'0000'0001u;
      const std::uint8_t path = policy->choose(usable);
      ASSERT_NE(usable & bit_of(path), 0u) << name_of(static_cast<PathRule>(rule));
      policy->sent(path);
      if (train % 7 == 0) {
        policy->lost(path);
      } else if (train % 31 == 0) {
        policy->timed_out(path);
      } else {
        policy->delivered(path, 1000 + train % 5 * 100);
      }
      used |= bit_of(path);
    }
    EXPECT_NE(used, 0u);
  }
}

TEST(PathPolicies, OneAndAssignedKeepToTheirPath) {
  const auto one = make_path_policy(setup_of(PathRule::kOne, 4));
  const auto assigned = make_path_policy(setup_of(PathRule::kAssigned, 4));
  assigned->begin(2);
  for (int train = 0; train < 10; ++train) {
    EXPECT_EQ(one->choose(0b1111), 0);
    EXPECT_EQ(assigned->choose(0b1111), 2);
  }
  EXPECT_EQ(one->choose(0b1100), 2);
  EXPECT_NE(assigned->choose(0b1011), 2);
}

TEST(PathPolicies, WithoutAPathOfThePlanAnAssignedBlockTakesThemAll) {
  const auto assigned = make_path_policy(setup_of(PathRule::kAssigned, 4));
  const auto least_loaded = make_path_policy(setup_of(PathRule::kLeastLoaded, 4));
  assigned->begin(base::Rounds::kAnyPath);
  for (int train = 0; train < 12; ++train) {
    const std::uint8_t path = assigned->choose(0b1111);
    EXPECT_EQ(path, least_loaded->choose(0b1111));
    for (const auto& policy : {assigned.get(), least_loaded.get()}) policy->sent(path);
  }
  assigned->begin(1);
  EXPECT_EQ(assigned->choose(0b1111), 1);
}

// The plan's path is slow: it times out, answers again, and is tried now and then.
TEST(PathPolicies, AnAssignedPathThatTimedOutIsLeftUntilItIsInTime) {
  const auto assigned = make_path_policy(setup_of(PathRule::kAssigned, 4));
  assigned->begin(2);
  const auto send = [&](int packets, base::Nanos delay_of_planned) {
    int planned = 0;
    for (int packet = 0; packet < packets; ++packet) {
      const std::uint8_t path = assigned->choose(0b1111);
      planned += path == 2;
      assigned->sent(path);
      assigned->delivered(path, path == 2 ? delay_of_planned : 1000);
    }
    return planned;
  };
  EXPECT_EQ(send(100, 1000), 100);
  assigned->timed_out(2);
  EXPECT_LE(send(100, 30'000), 10);
  EXPECT_LE(send(1000, 30'000), 60);
  assigned->begin(2);
  EXPECT_LE(send(100, 30'000), 10);
  send(1000, 1000);
  EXPECT_EQ(send(100, 1000), 100);
}

// What does not look at the paths gives the slow one its full part; the rest goes where there is
// room. A twentieth of the others' rate would be 3 % of the packets.
TEST(PathPolicies, AdaptiveOnesLeaveTheSlowPath) {
  EXPECT_NEAR(share_of_slow_path(PathRule::kRotate), 0.25, 0.01);
  EXPECT_NEAR(share_of_slow_path(PathRule::kEven), 0.25, 0.01);
  EXPECT_LE(share_of_slow_path(PathRule::kLeastLoaded), 0.10);
  EXPECT_LE(share_of_slow_path(PathRule::kHsam), 0.08);
  EXPECT_LE(share_of_slow_path(PathRule::kBss, 2), 0.08);
  EXPECT_LE(share_of_slow_path(PathRule::kRecycled), 0.08);
  EXPECT_LE(share_of_slow_path(PathRule::kBitmap), 0.08);
}

// "within a few hundred packet times", and back again once the path has recovered.
TEST(PathPolicies, AdaptiveOnesFollowAChange) {
  for (const PathRule rule : {PathRule::kLeastLoaded, PathRule::kBss, PathRule::kHsam,
                              PathRule::kRecycled, PathRule::kBitmap}) {
    const auto policy = make_path_policy(setup_of(rule, 4, 2));
    FluidPaths network(*policy, {0.5, 0.5, 0.5, 0.5}, 16);
    network.send(500);
    network.set_rate(2, 0.05);
    network.send(300);
    network.send(100);
    EXPECT_LE(network.share(2), 0.12) << name_of(rule);
    network.set_rate(2, 1.0);
    network.set_rate(0, 0.05);
    network.set_rate(1, 0.05);
    network.set_rate(3, 0.05);
    network.send(3000);
    network.send(300);
    EXPECT_GE(network.share(2), 0.4) << name_of(rule);
  }
}

TEST(PathPolicies, AFrozenRingUsesOnlyWhatWasGood) {
  const auto policy = make_path_policy(setup_of(PathRule::kRecycled, 8));
  const PathSet all = all_paths(8);
  for (int i = 0; i < 3; ++i) policy->delivered(static_cast<std::uint8_t>(2 + i), 1000);
  policy->timed_out(7);
  for (int train = 0; train < 200; ++train) {
    const std::uint8_t path = policy->choose(all);
    EXPECT_GE(path, 2);
    EXPECT_LE(path, 4);
  }
  // Afterwards it explores again.
  PathSet used = 0;
  for (int train = 0; train < 200; ++train) used |= bit_of(policy->choose(all));
  EXPECT_EQ(used, all);
}

// 004, Eq 3, by hand: two paths of weight 1, alpha 0.95, times 1 and 3. The rates are 1 and 1/3, so
// the new shares are 3/4 and 1/4 of 2, and a twentieth of the old weight stays.
TEST(PathWeights, FollowTheEquation) {
  PathWeights weights(4, 2);
  EXPECT_EQ(weights.batch(0b1111), (std::vector<std::uint8_t>{0, 1}));
  weights.update(std::array<std::uint8_t, 2>{0, 1}, std::array<double, 2>{1, 3});
  EXPECT_DOUBLE_EQ(weights.weight(0), 0.05 * 1 + 0.95 * 2 * 0.75);
  EXPECT_DOUBLE_EQ(weights.weight(1), 0.05 * 1 + 0.95 * 2 * 0.25);
  EXPECT_DOUBLE_EQ(weights.weight(0) + weights.weight(1), 2);
  // The heaviest come next: path 0, then those that were never tried.
  EXPECT_EQ(weights.batch(0b1111), (std::vector<std::uint8_t>{0, 2}));
  EXPECT_EQ(weights.batch(0b1111, 3), (std::vector<std::uint8_t>{0, 3}));
  EXPECT_EQ(weights.batch(0b1010), (std::vector<std::uint8_t>{3, 1}));
}

TEST(PathWeights, TheSumStaysWhateverIsMeasured) {
  PathWeights weights(12, 3, kAlpha, 1.25);
  for (int visit = 1; visit < 500; ++visit) {
    const auto batch = weights.batch(all_paths(12), static_cast<std::uint8_t>(visit % 12));
    std::vector<double> times;
    for (const std::uint8_t path : batch) times.push_back(1 + (path * visit) % 17);
    weights.update(batch, times);
    weights.relax(1.0 / 64);
    weights.demote(static_cast<std::uint8_t>(visit % 12), 0.5, all_paths(12));
  }
  double sum = 0;
  for (std::uint8_t path = 0; path < 12; ++path) {
    EXPECT_GT(weights.weight(path), 0);
    sum += weights.weight(path);
  }
  EXPECT_NEAR(sum, weights.total(), 1e-9);
}

// Time of a message over two paths, in units of what one of them would take for all of it.
double message_time(const PathWeights& weights, std::array<double, 2> slowness) {
  const double sum = weights.weight(0) + weights.weight(1);
  return std::max(weights.weight(0) / sum * slowness[0], weights.weight(1) / sum * slowness[1]);
}

// 004, 4.3.2: whether completions that are found late make the next message slower. The times of
// two paths are 1.00 and 1.05.
class LateCompletions : public testing::Test {
 protected:
  static constexpr std::array<double, 2> kSlowness{1.00, 1.05};
  static double slowdown(PathWeights weights, std::array<double, 2> seen) {
    const double before = message_time(weights, kSlowness);
    weights.update(std::array<std::uint8_t, 2>{0, 1}, seen);
    return message_time(weights, kSlowness) / before;
  }
};

TEST_F(LateCompletions, Case1NothingIsLate) {
  EXPECT_LT(slowdown(PathWeights(2, 2), {1.00, 1.05}), 1);
  EXPECT_LT(slowdown(PathWeights(2, 2, kAlpha, 1.25), {1.00, 1.05}), 1);
}

// The paper says that the next message gets no slower. It takes 70 % longer.
TEST_F(LateCompletions, Case2OneIsLate) {
  EXPECT_NEAR(slowdown(PathWeights(2, 2), {1, 10}), 1.69, 0.01);
  EXPECT_LE(slowdown(PathWeights(2, 2, kAlpha, 1.25), {1, 10}), 1.25);
}

TEST_F(LateCompletions, Case3AllAreLate) {
  EXPECT_DOUBLE_EQ(slowdown(PathWeights(2, 2), {10, 10}), 1);
  EXPECT_DOUBLE_EQ(slowdown(PathWeights(2, 2, kAlpha, 1.25), {10, 10}), 1);
}

}  // namespace
}  // namespace alm::paths
