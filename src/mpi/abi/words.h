// Casts MPI functions to take words for handles and arrays of them (entry.h), or to void: the
// machine code is the same.
#pragma once

namespace alm::mpi {

template <class Function, class Typed>
Function* with_words(Typed* real) {
  return reinterpret_cast<Function*>(reinterpret_cast<void*>(real));
}

}  // namespace alm::mpi
