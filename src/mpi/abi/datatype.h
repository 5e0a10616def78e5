// Data of any MPI datatype to and from the plain stream of its bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpi/ops.h"
#include "transport/io/mpi_api.h"

namespace alm::mpi {

// Fills in size and extent. The type must be valid.
int describe(const io::MpiApi& api, const void* base, std::int64_t count, MPI_Datatype type,
             TypedBuffer& buffer);

// True when `count` elements are their own byte stream: no gaps, no overlap, and the bytes in the
// order of the type's signature.
bool is_contiguous(const io::MpiApi& api, const TypedBuffer& buffer);

int pack(const io::MpiApi& api, const TypedBuffer& buffer, std::uint32_t ranks, std::byte* out);
int unpack(const io::MpiApi& api, const std::byte* in, std::uint32_t ranks,
           const TypedBuffer& buffer);

}  // namespace alm::mpi
