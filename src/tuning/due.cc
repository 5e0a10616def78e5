#include "tuning/due.h"

#include <algorithm>
#include <bit>

namespace alm::tuning {
namespace {

constexpr double kRateUnknownMbitS = 1000;
// Measured with 8 ranks on two processors: 13 to 42 ms. Less counts, because a call of the library
// that stalls costs more than its bytes.
constexpr base::Nanos kBringUp = 10 * base::kMillisecond;
// What counts of a call of a few bytes, which does not stall, and which ours makes little shorter.
constexpr base::Nanos kCallLeast = 10 * base::kMicrosecond;

}  // namespace

Due::Due(double host_rate_mbit_s, double slowed) {
  constexpr double kBytesPerNsPerMbit = 1e6 / 8 / 1e9;
  const double rate = host_rate_mbit_s > 0 ? host_rate_mbit_s : kRateUnknownMbitS;
  bytes_per_ns_ = rate * kBytesPerNsPerMbit;
  bring_up_ = base::slowed(kBringUp, slowed);
  least_ = base::slowed(kCallLeast, slowed);
}

bool Due::call(std::uint64_t bytes) {
  if (reached()) return true;
  const double on_link = static_cast<double>(bytes) / bytes_per_ns_;
  spent_ += least_ + static_cast<base::Nanos>(std::min(on_link, 1e18));
  return reached();
}

bool Due::asks() { return std::has_single_bit(++asked_); }

}  // namespace alm::tuning
