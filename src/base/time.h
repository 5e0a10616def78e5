// Time is passed in as a value everywhere below the operating-system layer.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace alm::base {

using Nanos = std::int64_t;  // nanoseconds of any monotonic clock
constexpr Nanos kNever = std::numeric_limits<Nanos>::max();
constexpr Nanos kMicrosecond = 1'000;
constexpr Nanos kMillisecond = 1'000'000;
constexpr Nanos kSecond = 1'000'000'000;

// A time that depends on the speed of the network, on a network that is `factor` times slower.
inline Nanos slowed(Nanos time, double factor) {
  return factor == 1 ? time : std::llround(static_cast<double>(time) * factor);
}

// What so many bytes take on a link of this rate.
inline double nanos_on_link(double bytes, double rate_mbit_s) {
  constexpr double kBitNanos = 8000;  // bits per byte, ns per (bit / Mbit/s)
  return bytes * kBitNanos / rate_mbit_s;
}
// The same of a frame, as timers count it.
inline Nanos frame_time(double bytes, double rate_mbit_s) {
  return std::max<Nanos>(1, std::llround(nanos_on_link(bytes, rate_mbit_s)));
}

// `time` / `to`, where a divisor below a nanosecond counts as one.
inline double ratio(Nanos time, Nanos to) {
  return static_cast<double>(time) / static_cast<double>(to < 1 ? Nanos{1} : to);
}

}  // namespace alm::base
