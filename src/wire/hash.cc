#include "wire/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace alm::wire {

std::uint64_t hash_plain(const void* data, std::size_t bytes, const void* secret,
                         std::size_t secret_bytes) {
  return XXH3_64bits_withSecret(data, bytes, secret, secret_bytes);
}

std::uint64_t hash(const void* data, std::size_t bytes, const void* secret,
                   std::size_t secret_bytes) {
#if defined(__x86_64__)
  static const bool avx2 = __builtin_cpu_supports("avx2") != 0;
  if (avx2) return hash_avx2(data, bytes, secret, secret_bytes);
#endif
  return hash_plain(data, bytes, secret, secret_bytes);
}

}  // namespace alm::wire
