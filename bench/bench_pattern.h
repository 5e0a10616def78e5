// A payload every byte of which depends on the call, the sender, the receiver and the offset, so
// that stale, swapped, shifted or damaged data cannot pass for right. One multiplication per 8
// bytes.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t pattern_mix(uint64_t x) {
  // The finaliser of splitmix64: every input bit reaches every output bit.
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

static inline uint64_t pattern_key(uint64_t key, int a, int b) {
  return pattern_mix(key ^ pattern_mix(((uint64_t)(uint32_t)a << 32) | (uint32_t)b));
}

static inline uint64_t pattern_word(uint64_t key, uint64_t index) {
  uint64_t x = key + index * 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
  return x ^ (x >> 32);
}

static inline void pattern_fill(unsigned char* data, size_t size, uint64_t key) {
  const size_t words = size / 8;
  for (size_t i = 0; i < words; ++i) {
    const uint64_t word = pattern_word(key, i);
    memcpy(data + 8 * i, &word, 8);
  }
  const uint64_t last = pattern_word(key, words);
  memcpy(data + 8 * words, &last, size % 8);
}

static inline uint64_t pattern_wrong_in_word(uint64_t difference) {
  uint64_t wrong = 0;
  for (; difference; difference >>= 8) wrong += (difference & 0xff) != 0;
  return wrong;
}

// Number of wrong bytes; the offset of the first goes to *first.
static inline uint64_t pattern_check(const unsigned char* data, size_t size, uint64_t key,
                                     size_t* first) {
  const size_t words = size / 8;
  uint64_t wrong = 0;
  for (size_t i = 0; i <= words; ++i) {
    const size_t length = i < words ? 8 : size % 8;
    const uint64_t expected = pattern_word(key, i);
    uint64_t found = expected;
    memcpy(&found, data + 8 * i, length);
    if (found == expected) continue;
    if (wrong == 0) {
      *first = 8 * i;
      while (((const unsigned char*)&expected)[*first - 8 * i] == data[*first]) ++*first;
    }
    wrong += pattern_wrong_in_word(found ^ expected);
  }
  return wrong;
}
