// Little-endian integers at any alignment.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace alm::wire {

template <std::unsigned_integral T>
constexpr T to_little(T value) {
  if constexpr (std::endian::native == std::endian::little || sizeof(T) == 1) return value;
  T swapped = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    swapped = static_cast<T>((swapped << 8) | ((value >> (8 * i)) & 0xFF));
  }
  return swapped;
}

template <std::unsigned_integral T>
void store(std::byte* at, T value) {
  const T little = to_little(value);
  std::memcpy(at, &little, sizeof little);
}

template <std::unsigned_integral T>
T load(const std::byte* at) {
  T little;
  std::memcpy(&little, at, sizeof little);
  return to_little(little);
}

}  // namespace alm::wire
