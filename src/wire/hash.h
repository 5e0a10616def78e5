// XXH3 over a payload, with the widest vectors the processor has. All variants give the same value.
#pragma once

#include <cstddef>
#include <cstdint>

namespace alm::wire {

// secret_bytes >= 136.
std::uint64_t hash(const void* data, std::size_t bytes, const void* secret,
                   std::size_t secret_bytes);

// The variants that hash() chooses from.
std::uint64_t hash_plain(const void* data, std::size_t bytes, const void* secret,
                         std::size_t secret_bytes);
#if defined(__x86_64__)
std::uint64_t hash_avx2(const void* data, std::size_t bytes, const void* secret,
                        std::size_t secret_bytes);
#endif

}  // namespace alm::wire
