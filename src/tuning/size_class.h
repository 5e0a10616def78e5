// Sizes that share a trial and a decision: those with the same bit width, 1, 2 to 3, 4 to 7, 8 to
// 15, ... The limits are powers of two, so that no table is needed.
#pragma once

#include <bit>
#include <cassert>
#include <compare>
#include <cstddef>
#include <cstdint>

namespace alm::tuning {

class SizeClass {
 public:
  // Precondition: at least one byte.
  constexpr explicit SizeClass(std::uint64_t bytes)
      : width_(static_cast<int>(std::bit_width(bytes))) {
    assert(bytes > 0);
  }

  constexpr std::size_t index() const { return static_cast<std::size_t>(width_) - 1; }  // from 0 on
  constexpr std::uint64_t least() const { return std::uint64_t{1} << (width_ - 1); }
  constexpr std::uint64_t most() const { return least() - 1 + least(); }

  friend constexpr auto operator<=>(const SizeClass&, const SizeClass&) = default;

 private:
  int width_;
};

}  // namespace alm::tuning
