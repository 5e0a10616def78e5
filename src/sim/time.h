// Simulated time: integer picoseconds, so that sums are exact and runs equal on every machine.
#pragma once

#include <cstdint>
#include <limits>

#include "base/time.h"

namespace alm::sim {

using Picos = std::int64_t;  // up to 106 days
constexpr Picos kNever = std::numeric_limits<Picos>::max();
constexpr Picos kPicosPerNano = 1'000;
constexpr Picos kPicosPerMicro = 1'000'000;
constexpr Picos kPicosPerSecond = 1'000'000'000'000;

constexpr Picos from_nanos(base::Nanos nanos) {
  return nanos >= kNever / kPicosPerNano ? kNever : nanos * kPicosPerNano;
}
constexpr base::Nanos to_nanos(Picos picos) { return picos / kPicosPerNano; }

// The time of `bytes` at `bit_s`, rounded to the nearest picosecond. For frames of up to 1 MiB.
constexpr Picos serialization(std::uint64_t bytes, std::uint64_t bit_s) {
  return static_cast<Picos>((bytes * 8 * kPicosPerSecond + bit_s / 2) / bit_s);
}

}  // namespace alm::sim
