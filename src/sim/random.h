// A seeded source of random numbers that gives the same on every machine: integers only, because
// std:: distributions and libm differ between libraries.
#pragma once

#include <bit>
#include <cstdint>

#include "base/mix.h"

namespace alm::sim {

using base::mix;

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(mix(seed + base::kGolden)) {}

  std::uint64_t next() { return mix(state_ += base::kGolden); }

  // Uniform in [0, n). The bias is below n / 2^64.
  std::uint64_t below(std::uint64_t n) {
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * n) >> 64);
  }

  // Exponentially distributed with this mean: -mean ln(u), u uniform in (0, 1).
  std::int64_t exponential(std::int64_t mean) {
    // -ln u = -log2 u * ln 2; both factors with 32 fractional bits.
    constexpr std::uint64_t kLn2 = 2977044472u;
    const auto product = static_cast<unsigned __int128>(minus_log2(next() | 1)) * kLn2;
    const auto scaled = (product >> 32) * static_cast<std::uint64_t>(mean);
    return static_cast<std::int64_t>(scaled >> 32);
  }

 private:
  // -log2(x / 2^64) with 32 fractional bits, by repeated squaring of the mantissa.
  static constexpr std::uint64_t minus_log2(std::uint64_t x) {
    const int shift = std::countl_zero(x);
    std::uint64_t mantissa = x << shift;  // in [1, 2) with 63 fractional bits
    std::uint64_t log = 0;                // of the mantissa, 32 fractional bits
    for (int bit = 31; bit >= 0; --bit) {
      const auto square = static_cast<unsigned __int128>(mantissa) * mantissa;
      if ((square >> 127) != 0) {
        log |= std::uint64_t{1} << bit;
        mantissa = static_cast<std::uint64_t>(square >> 64);
      } else {
        mantissa = static_cast<std::uint64_t>(square >> 63);
      }
    }
    return (static_cast<std::uint64_t>(shift + 1) << 32) - log;
  }

  std::uint64_t state_;
};

}  // namespace alm::sim
