#include "tuning/due.h"

#include <algorithm>
#include <bit>

#include "tuning/trial_rules.h"

namespace alm::tuning {
namespace {

constexpr double kRateUnknownMbitS = 1000;
// Measured with 8 ranks on two processors: 13 to 42 ms. Where a call of the library may stall, less
// counts, because that costs more than its bytes.
constexpr base::Nanos kBringUp = 40 * base::kMillisecond;
constexpr base::Nanos kBringUpOrStall = 10 * base::kMillisecond;
// What counts of a call of a few bytes, which does not stall, and which ours makes little shorter.
constexpr base::Nanos kCallLeast = 10 * base::kMicrosecond;
// From the first so many calls on ranks compare once in so many: that is one in a hundred small
// collectives more, and calls that become long meanwhile are seen.
constexpr std::uint64_t kCallsBetween = 128;
// Whatever processors do.
constexpr base::Nanos kBringUpSurely = 10 * kBringUp;
// Bring-up calls about so many collectives of a few bytes (communicator/bring_up.h).
constexpr std::uint64_t kCollectives = 12;

}  // namespace

DueByBytes::DueByBytes(double host_rate_mbit_s, double slowed) {
  constexpr double kBytesPerNsPerMbit = 1e6 / 8 / 1e9;
  const double rate = host_rate_mbit_s > 0 ? host_rate_mbit_s : kRateUnknownMbitS;
  bytes_per_ns_ = rate * kBytesPerNsPerMbit;
  bring_up_ = base::slowed(kBringUpOrStall, slowed);
  least_ = base::slowed(kCallLeast, slowed);
}

void DueByBytes::call(std::uint64_t bytes) {
  if (reached()) return;
  const double on_link = static_cast<double>(bytes) / bytes_per_ns_;
  spent_ += least_ + static_cast<base::Nanos>(std::min(on_link, 1e18));
}

bool DueByBytes::asks() { return std::has_single_bit(++asked_); }

DueByTime DueByTime::of_small_blocks(double slowed) {
  return {2, base::slowed(kBringUp, slowed), base::slowed(kBringUpSurely, slowed)};
}

DueByTime DueByTime::of_long_calls(double slowed) {
  const base::Nanos surely = base::slowed(kBringUpSurely, slowed);
  return {8, surely, surely};
}

bool DueByTime::waits_for(std::uint64_t block_bytes) {
  return block_bytes <= TrialRules::kCombinedBytes;
}

bool DueByTime::compares() {
  ++calls_;
  return calls_ >= first_ && (std::has_single_bit(calls_) || calls_ % kCallsBetween == 0);
}

void DueByTime::compared(const Figures& least, base::Nanos took) {
  const auto [spent, comparing] = least;
  // What a collective takes is known from the second comparison on.
  const auto enough = static_cast<std::uint64_t>(comparing > 0 ? bring_up_ : surely_);
  if (spent >= enough + kCollectives * comparing) come();
  comparing_ = static_cast<std::uint64_t>(std::max<base::Nanos>(took, 1));
}

void DueByTime::took(base::Nanos time) {
  if (calls_ > 1) spent_ += static_cast<std::uint64_t>(std::max<base::Nanos>(time, 0));
}

}  // namespace alm::tuning
