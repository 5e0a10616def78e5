#include "tuning/due.h"

#include <algorithm>

namespace alm::tuning {
namespace {

constexpr double kRateUnknownMbitS = 1000;
// Measured with 8 ranks on two processors: 13 to 25 ms.
constexpr base::Nanos kBringUp = 10 * base::kMillisecond;
// The least time that a call of a few bytes counts as.
constexpr base::Nanos kCallLeast = 200 * base::kMicrosecond;

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

}  // namespace alm::tuning
