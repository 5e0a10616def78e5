// Data of any MPI datatype to and from the plain stream of its bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpi/ops.h"
#include "transport/io/mpi_api.h"

namespace alm::mpi {

// Where MPI_Pack is called: errors come back as codes there, whatever the program's communicators
// do with theirs.
struct Packing {
  const io::MpiApi& api;
  MPI_Comm comm;
  int known = MPI_KEYVAL_INVALID;  // the attribute by which a type keeps what has been found out
};

// For Packing::known. MPI drops the attribute with the type, so that a handle used again is new.
// Duplicates of a type do not have it.
int make_type_keyval(const io::MpiApi& api);

// False: not committed. The MPI library is to say so.
bool is_usable(const Packing& packing, MPI_Datatype type);

// Fills in size and extent. The type must be valid.
int describe(const io::MpiApi& api, const void* base, std::int64_t count, MPI_Datatype type,
             TypedBuffer& buffer);

// True when `count` elements are their own byte stream: no gaps, no overlap, and the bytes in the
// order of the type's signature. A type is looked into once.
bool is_contiguous(const Packing& packing, const TypedBuffer& buffer);

// Makes `buffer` describe the same elements by a type that stays when the user frees his. True: a
// new one, of one element of the old. Copies no attributes, so that no callback of the user runs.
bool hold_type(const Packing& packing, TypedBuffer& buffer);

int pack(const Packing& packing, const TypedBuffer& buffer, std::uint32_t ranks, std::byte* out);
int unpack(const Packing& packing, const std::byte* in, std::uint32_t ranks,
           const TypedBuffer& buffer);

}  // namespace alm::mpi
