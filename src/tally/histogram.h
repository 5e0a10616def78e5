// Times counted by their length, in fixed memory: 16 buckets to an octave, so that a quantile is
// known to 3 %.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/time.h"

namespace alm::tally {

class Histogram {
 public:
  void add(base::Nanos time);

  // The time that `part` of all times do not exceed; 0: there are none.
  base::Nanos quantile(double part) const;
  base::Nanos longest() const { return longest_; }
  std::uint64_t total() const { return total_; }

 private:
  static constexpr int kBits = 4;        // of a time, after its first, that tell its bucket
  static constexpr int kLeastWidth = 8;  // shorter times share the first bucket
  static constexpr int kMostWidth = 42;  // longer ones, from 73 minutes on, share the last
  static constexpr std::uint64_t kSubMask = (1u << kBits) - 1;
  static constexpr std::size_t kBuckets = (std::size_t{kMostWidth - kLeastWidth + 1} << kBits);

  static std::size_t bucket_of(base::Nanos time);
  static base::Nanos middle_of(std::size_t bucket);

  std::array<std::uint32_t, kBuckets> counts_{};
  std::uint64_t total_ = 0;
  base::Nanos longest_ = 0;
};

}  // namespace alm::tally
