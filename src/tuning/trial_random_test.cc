// Trials of random networks, files and noise: all ranks of a job stay in the same state.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tuning/trial_test_calls.h"

namespace alm::tuning {
namespace {

class RandomTrial {
 public:
  explicit RandomTrial(unsigned seed) : random_(seed) {
    const std::size_t ways = 2 + below(5);
    std::vector<Transport> transports = {Transport::kUdp};
    while (transports.size() < ways) {
      transports.push_back(below(2) == 0 ? Transport::kUdp : Transport::kMpi);
    }
    for (std::size_t way = 0; way < ways; ++way) times_.push_back(any_time());
    called_.assign(ways, 0);
    limit_ = below(2) == 0 ? 0 : *std::min_element(times_.begin(), times_.end());
    ranks_.assign(3, Trial(transports, limit_));
    const base::Nanos stall = static_cast<base::Nanos>(below(4)) * 200 * kMs;
    for (std::size_t way = 0; way < ways; ++way) {
      stalls_.push_back(transports[way] == Transport::kMpi ? stall : 0);
      const base::Nanos predicted = below(2) == 0 ? any_time() : 0;
      each([&](Trial& trial) { trial.predicts(way, predicted); });
      each([&](Trial& trial) { trial.expects(way, stalls_[way]); });
    }
    if (below(2) == 0) {
      Times known;
      const bool right = below(2) == 0;
      const auto said = [&](std::size_t way) { return right ? times_[way] : any_time(); };
      for (std::size_t way = 0; way < ways; ++way) known.push_back(below(3) == 0 ? 0 : said(way));
      const std::size_t way = below(ways);
      known[way] = said(way);
      each([&](Trial& trial) { trial.adopt(way, known); });
    }
  }

  // Makes a call; what other sizes have shown, and what cannot be called, comes in between.
  void call() {
    const std::size_t ways = times_.size();
    if (below(40) == 0) {
      const std::size_t way = below(ways);
      const Heard heard{1 + static_cast<double>(below(5)), any_time()};
      const base::Nanos stall = below(2) == 0 ? 0 : stalls_[way];
      each([&](Trial& trial) { trial.expects(way, stall, heard); });
    }
    if (below(40) == 0 && limit_ == 0) {
      limit_ = any_time();
      each([&](Trial& trial) { trial.set_limit(limit_); });
    }
    const std::size_t way = ranks_.front().way();
    if (way != 0 && refused_ == 0 && called_[way] == 0 && below(8) == 0) refused_ = way;
    for (std::size_t tries = 0; refused_ != 0 && ranks_.front().way() == refused_; ++tries) {
      ASSERT_LT(tries, ways);
      each([&](Trial& trial) { trial.rule_out(refused_); });
    }
    const std::size_t taken = ranks_.front().way();
    ASSERT_LT(taken, ways);
    ++called_[taken];
    const base::Nanos stall = stalls_[taken] > 0 && below(8) == 0 ? stalls_[taken] : 0;
    each([&](Trial& trial) {
      trial.took(times_[taken] + stall + static_cast<base::Nanos>(below(1 + times_[taken] / 4)));
    });
    expect_alike();
    if (!ranks_.front().due()) return;
    const Times agreed = reduce(ranks_);
    each([&](Trial& trial) { trial.agree(agreed); });
    each([&](Trial& trial) { trial.agreed(static_cast<base::Nanos>(below(kMs))); });
    expect_alike();
  }

 private:
  std::size_t below(base::Nanos most) {
    return static_cast<std::size_t>(random_() % static_cast<std::uint64_t>(most));
  }
  base::Nanos any_time() {
    return static_cast<base::Nanos>(1 + below(1000)) * (below(2) == 0 ? kMs : kMs / 100);
  }
  template <typename Do>
  void each(Do&& act) {
    for (Trial& trial : ranks_) act(trial);
  }
  void expect_alike() const {
    const Trial& first = ranks_.front();
    for (const Trial& trial : ranks_) {
      ASSERT_EQ(trial.due(), first.due());
      ASSERT_EQ(trial.times().size(), first.times().size());
      ASSERT_EQ(trial.decided(), first.decided());
      ASSERT_EQ(trial.chosen(), first.chosen());
      if (!trial.due()) {
        ASSERT_EQ(trial.way(), first.way());
      }
    }
  }

  std::mt19937 random_;
  std::vector<Trial> ranks_;
  Times times_;  // [way] usual ones
  Times stalls_;
  base::Nanos limit_ = 0;
  std::vector<int> called_;  // [way] so often
  std::size_t refused_ = 0;  // the way that cannot be called; 0: all can
};

TEST(TrialRandom, RanksStayInTheSameState) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    RandomTrial trial(seed);
    for (int i = 0; i < 400; ++i) {
      trial.call();
      ASSERT_FALSE(testing::Test::HasFatalFailure()) << "seed " << seed << ", call " << i;
    }
  }
}

}  // namespace
}  // namespace alm::tuning
