#include "tally/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace alm::tally {

std::size_t Histogram::bucket_of(base::Nanos time) {
  const auto count = static_cast<std::uint64_t>(std::max(time, base::Nanos{0}));
  const int width = static_cast<int>(std::bit_width(count));
  if (width < kLeastWidth) return 0;
  if (width > kMostWidth) return kBuckets - 1;
  const std::uint64_t sub = (count >> (width - 1 - kBits)) & kSubMask;
  return (static_cast<std::size_t>(width - kLeastWidth) << kBits) + sub;
}

base::Nanos Histogram::middle_of(std::size_t bucket) {
  const int width = kLeastWidth + static_cast<int>(bucket >> kBits);
  const auto sub = static_cast<base::Nanos>(bucket & kSubMask);
  const base::Nanos length = base::Nanos{1} << (width - 1 - kBits);
  return (base::Nanos{1} << (width - 1)) + sub * length + length / 2;
}

void Histogram::add(base::Nanos time) {
  ++counts_[bucket_of(time)];
  ++total_;
  longest_ = std::max(longest_, time);
}

base::Nanos Histogram::quantile(double part) const {
  const double rank = std::ceil(part * static_cast<double>(total_));
  const auto wanted = std::max(std::uint64_t{1}, static_cast<std::uint64_t>(rank));
  std::uint64_t so_far = 0;
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
    so_far += counts_[bucket];
    if (so_far >= wanted) return std::min(middle_of(bucket), longest_);
  }
  return longest_;
}

}  // namespace alm::tally
