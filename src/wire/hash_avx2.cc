// Compiled for AVX2 and called only where the processor has it. So nothing but C headers in here: a
// function that others share might be taken from this file.
#if defined(__x86_64__)

#include <stddef.h>
#include <stdint.h>

#define XXH_INLINE_ALL
#define XXH_VECTOR XXH_AVX2
#include <xxhash.h>

namespace alm::wire {

uint64_t hash_avx2(const void* data, size_t bytes, const void* secret, size_t secret_bytes);

uint64_t hash_avx2(const void* data, size_t bytes, const void* secret, size_t secret_bytes) {
  return XXH3_64bits_withSecret(data, bytes, secret, secret_bytes);
}

}  // namespace alm::wire

#endif
