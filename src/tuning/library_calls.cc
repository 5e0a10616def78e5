#include "tuning/library_calls.h"

#include <algorithm>

#include "tuning/size_class.h"
#include "tuning/trial_rules.h"

namespace alm::tuning {
void LibraryCalls::took(std::uint64_t block_bytes, base::Nanos time) {
  if (++calls_ == 1 || block_bytes == 0) return;
  const std::size_t index = SizeClass(block_bytes).index();
  if (index >= kSizes) return;
  OfSize& one = sizes_[index];
  ++one.calls;
  one.bytes = std::max(one.bytes, block_bytes);
  one.slowest = std::max(one.slowest, time);
}

LibraryCalls::Words LibraryCalls::words() const {
  Words words{};
  for (std::size_t i = 0; i < kSizes; ++i) {
    const OfSize& one = sizes_[i];
    words[3 * i] = one.bytes;
    words[3 * i + 1] = one.calls;
    words[3 * i + 2] = static_cast<std::uint64_t>(one.slowest);
  }
  return words;
}

void LibraryCalls::agree(const Words& largest) {
  for (std::size_t i = 0; i < kSizes; ++i) {
    sizes_[i] = {largest[3 * i + 1], largest[3 * i], static_cast<base::Nanos>(largest[3 * i + 2])};
  }
}

bool LibraryCalls::waited(const OfSize& one, const StallOf& stall_of) {
  const base::Nanos stall = stall_of(one.bytes);
  return stall > 0 && one.slowest >= TrialRules::shortest_stall(stall);
}

// Small blocks are combined, and wait for nothing: they say nothing of larger ones.
std::uint64_t LibraryCalls::held(const StallOf& stall_of) const {
  std::uint64_t held = 0;
  for (const OfSize& one : sizes_) {
    if (waited(one, stall_of)) break;
    if (one.calls >= TrialRules::kWaitedCalls && stall_of(one.bytes) > 0) held = one.bytes;
  }
  return held;
}

}  // namespace alm::tuning
