// Converts data of any MPI datatype to and from a plain stream of bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "job/bootstrap.h"
#include "messages/io/mpi_api.h"

namespace alm::mpi {

// The communicator for MPI_Pack. Errors on it are returned as codes, whatever error handlers the
// program's communicators have.
struct Packing {
  const messages::MpiApi& api;
  MPI_Comm comm;
  int known = MPI_KEYVAL_INVALID;  // key of the attribute that caches what is known of a type
};

// Makes the key for Packing::known. MPI drops the attribute with its type, so that a reused handle
// starts without it. Duplicates of a type do not inherit it.
int make_type_keyval(const messages::MpiApi& api);

// True: a predefined type.
bool is_named(const messages::MpiApi& api, MPI_Datatype type);

// False: the type is not committed. The MPI library reports that.
bool is_usable(const Packing& packing, MPI_Datatype type);

// Fills in `buffer`, with size and extent of the type, which must be valid.
int describe(const messages::MpiApi& api, const void* base, std::int64_t count, MPI_Datatype type,
             job::TypedBuffer& buffer);

// True when `count` elements are their own byte stream: no gaps, no overlap, and the bytes in the
// order of the type's signature. The answer is cached with the type.
bool is_contiguous(const Packing& packing, const job::TypedBuffer& buffer);

// Makes `buffer` describe the same elements by a type that outlives the user's. True: a new type,
// of one element of the old, to be released. No attributes are copied, so that no callback of the
// user runs.
bool hold_type(const Packing& packing, job::TypedBuffer& buffer);

int pack(const Packing& packing, const job::TypedBuffer& buffer, std::uint32_t ranks,
         std::byte* out);
int unpack(const Packing& packing, const std::byte* in, std::uint32_t ranks,
           const job::TypedBuffer& buffer);

}  // namespace alm::mpi
