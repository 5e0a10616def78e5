// Trials driven call by call, for tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "tuning/trial.h"
#include "tuning/trial_rules.h"

namespace alm::tuning {

constexpr base::Nanos kMs = base::kMillisecond;
using Times = std::vector<base::Nanos>;

// Reduces the times as the caller does, as unsigned words.
inline Times reduce(std::span<const Trial> ranks) {
  std::vector<std::uint64_t> words(ranks.front().times().size());
  for (const Trial& trial : ranks) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      words[i] = std::max(words[i], static_cast<std::uint64_t>(trial.times()[i]));
    }
  }
  return Times(words.begin(), words.end());
}

// Makes one call, on the slowest rank. Returns its time.
inline base::Nanos call(Trial& trial, const Times& times) {
  const base::Nanos took = times[trial.way()];
  trial.took(took);
  if (trial.due()) trial.agree(Times(trial.times()));
  return took;
}

inline base::Nanos calls(Trial& trial, int count, const Times& times) {
  base::Nanos total = 0;
  for (int i = 0; i < count; ++i) total += call(trial, times);
  return total;
}

inline int calls_until_decided(Trial& trial, const Times& times) {
  int count = 0;
  for (; !trial.decided(); ++count) call(trial, times);
  return count;
}

inline Trial six() {
  return Trial({Transport::kUdp, Transport::kMpi, Transport::kUdp, Transport::kMpi, Transport::kMpi,
                Transport::kMpi});
}

}  // namespace alm::tuning
