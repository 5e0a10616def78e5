// MPI handles as opaque words: pointers in Open MPI, integers in MPICH.
#pragma once

#include <cstdint>
#include <type_traits>

namespace alm::mpi {

template <class Handle>
std::uintptr_t to_opaque(Handle handle) {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<std::uintptr_t>(handle);
  } else {
    return static_cast<std::uint32_t>(handle);
  }
}

template <class Handle>
Handle from_opaque(std::uintptr_t word) {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<Handle>(word);
  } else {
    return static_cast<Handle>(static_cast<std::uint32_t>(word));
  }
}

}  // namespace alm::mpi
