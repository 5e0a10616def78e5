#include "tuning/library_calls.h"

#include <algorithm>
#include <bit>

#include "tuning/trial_rules.h"

namespace alm::tuning {
namespace {

std::size_t index_of(std::uint64_t bytes) {
  return static_cast<std::size_t>(std::bit_width(bytes)) - 1;  // as tuning::SizeClass
}

}  // namespace

void LibraryCalls::took(std::uint64_t block_bytes, base::Nanos time) {
  if (++calls_ == 1 || block_bytes == 0 || index_of(block_bytes) >= kSizes) return;
  OfSize& one = sizes_[index_of(block_bytes)];
  ++one.calls;
  one.bytes = std::max(one.bytes, block_bytes);
  one.sum += time;
  one.slowest = std::max(one.slowest, time);
}

LibraryCalls::Words LibraryCalls::words() const {
  Words words{};
  for (std::size_t i = 0; i < kSizes; ++i) {
    const OfSize& one = sizes_[i];
    if (one.calls < TrialRules::kWaitedCalls) continue;
    words[3 * i] = one.bytes;
    words[3 * i + 1] = static_cast<std::uint64_t>(one.mean());
    words[3 * i + 2] = static_cast<std::uint64_t>(one.slowest);
  }
  return words;
}

void LibraryCalls::agree(const Words& largest) {
  for (std::size_t i = 0; i < kSizes; ++i) {
    sizes_[i] = {largest[3 * i] > 0 ? 1U : 0U, largest[3 * i],
                 static_cast<base::Nanos>(largest[3 * i + 1]),
                 static_cast<base::Nanos>(largest[3 * i + 2])};
  }
}

bool LibraryCalls::is_calm(const OfSize& one, const StallOf& stall_of) {
  const base::Nanos stall = stall_of(one.bytes);
  return one.calls > 0 && (stall == 0 || one.slowest < TrialRules::shortest_stall(stall));
}

base::Nanos LibraryCalls::time(std::uint64_t bytes, const StallOf& stall_of) const {
  if (bytes == 0 || index_of(bytes) >= kSizes) return 0;
  const OfSize& one = sizes_[index_of(bytes)];
  return is_calm(one, stall_of) ? one.mean() : 0;
}

std::uint64_t LibraryCalls::held(const StallOf& stall_of) const {
  std::uint64_t held = 0;
  for (const OfSize& one : sizes_) {
    if (one.calls == 0) continue;
    if (!is_calm(one, stall_of)) break;
    held = one.bytes;
  }
  return held;
}

}  // namespace alm::tuning
