// Which packets of a block have come past a gap, as acknowledgements tell it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "wire/control.h"

namespace alm::wire {

// Which packets past a gap have come. Most blocks never have a gap, so the bits are allocated with
// the first gap; a window without them takes less of the processor's cache.
class Marks {
 public:
  bool any() const {
    return words_ != nullptr &&
           std::any_of(words_->begin(), words_->end(), [](auto word) { return word != 0; });
  }
  bool has(std::uint32_t bit) const {
    return words_ != nullptr && bit / kWord < words_->size() &&
           (((*words_)[bit / kWord] >> (bit % kWord)) & 1) != 0;
  }
  // How many of the first `bits` are set.
  std::uint32_t count(std::uint32_t bits = UINT32_MAX) const {
    std::uint32_t count = 0;
    if (words_ == nullptr) return count;
    for (const std::uint64_t word : *words_) {
      const std::uint32_t here = std::min(bits, kWord);
      const std::uint64_t mask = here == kWord ? ~std::uint64_t{0} : (std::uint64_t{1} << here) - 1;
      count += static_cast<std::uint32_t>(std::popcount(word & mask));
      bits -= here;
    }
    return count;
  }
  // How many are set from bit 0 on without a gap, in the first word.
  std::uint32_t leading() const {
    return words_ == nullptr || words_->empty()
               ? 0
               : static_cast<std::uint32_t>(std::countr_one(words_->front()));
  }
  // The bits from `from` on, which is the first bit of a word.
  Bitmap map(std::uint32_t from = 0) const {
    Bitmap map{};
    for (std::size_t i = 0; words_ != nullptr && i < map.size(); ++i) {
      if (from / kWord + i < words_->size()) map[i] = (*words_)[from / kWord + i];
    }
    return map;
  }
  void set(std::uint32_t bit) {
    if (words_ == nullptr) words_ = std::make_unique<std::vector<std::uint64_t>>();
    if (bit / kWord >= words_->size()) words_->resize(bit / kWord + 1);
    (*words_)[bit / kWord] |= std::uint64_t{1} << (bit % kWord);
  }
  // Drops the lowest `by` bits; the others move down.
  void drop(std::uint32_t by) {
    if (!any()) return;
    const std::size_t words = by / kWord;
    const std::uint32_t bits = by % kWord;
    const std::size_t size = words_->size();
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t from = i + words;
      std::uint64_t value = from < size ? (*words_)[from] >> bits : 0;
      if (bits != 0 && from + 1 < size) value |= (*words_)[from + 1] << (kWord - bits);
      (*words_)[i] = value;
    }
  }

 private:
  static constexpr std::uint32_t kWord = 64;
  std::unique_ptr<std::vector<std::uint64_t>> words_;
};

}  // namespace alm::wire
