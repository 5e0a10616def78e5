// A word from a word, so that words that differ a little give words that differ everywhere: the
// finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014). The same on every machine.
#pragma once

#include <cstdint>

namespace alm::base {

// 2^64 by the golden ratio: what a sequence adds to its state before each word.
constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15u;

constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace alm::base
