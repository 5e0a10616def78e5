#include "tuning/due.h"

#include <algorithm>

namespace alm::tuning {
namespace {

constexpr double kRateUnknownMbitS = 1000;
// Measured with 8 ranks on two processors: 13 to 25 ms.
constexpr base::Nanos kBringUp = 10 * base::kMillisecond;
// The least time that a call of a few bytes counts as.
constexpr base::Nanos kCallLeast = 200 * base::kMicrosecond;
// What an MPI_Alltoallv counts as, whose size is not known: the third one makes bring-up due.
constexpr base::Nanos kCallUnknown = kBringUp / 3 + 1;

}  // namespace

Due::Due(double host_rate_mbit_s, double slowed) {
  constexpr double kBytesPerNsPerMbit = 1e6 / 8 / 1e9;
  const double rate = host_rate_mbit_s > 0 ? host_rate_mbit_s : kRateUnknownMbitS;
  bytes_per_ns_ = rate * kBytesPerNsPerMbit;
  bring_up_ = base::slowed(kBringUp, slowed);
  least_ = base::slowed(kCallLeast, slowed);
  unknown_ = base::slowed(kCallUnknown, slowed);
}

bool Due::call(std::uint32_t ranks, std::optional<std::uint64_t> bytes) {
  if (spent_ >= bring_up_) return true;
  if (bytes) {
    const double all = static_cast<double>(*bytes) * (ranks - 1);
    spent_ += least_ + static_cast<base::Nanos>(std::min(all / bytes_per_ns_, 1e18));
  } else {
    spent_ += unknown_;
  }
  return spent_ >= bring_up_;
}

}  // namespace alm::tuning
