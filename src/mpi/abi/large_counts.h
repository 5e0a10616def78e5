// The _c forms, for MPI libraries without them: those before MPI 4.0, and Open MPI 5.
//
// A program that refers to them weakly (mpi4py does) finds ours and takes them for the library's.
// Calls whose counts fit an int go to the old forms; larger counts are an error.
// Handles are words: the library may have another ABI than this one (entry.h).
#pragma once

#include "messages/io/mpi_api.h"
#include "mpi/abi/entry.h"

namespace alm::mpi::large_counts {

int alltoall(const messages::MpiApi& api, const void* send, std::int64_t send_count,
             entry::Word send_type, void* recv, std::int64_t recv_count, entry::Word recv_type,
             entry::Word comm);
int alltoallv(const messages::MpiApi& api, const void* send, const std::int64_t* send_counts,
              const std::int64_t* send_at, entry::Word send_type, void* recv,
              const std::int64_t* recv_counts, const std::int64_t* recv_at, entry::Word recv_type,
              entry::Word comm);
int alltoallw(const messages::MpiApi& api, const void* send, const std::int64_t* send_counts,
              const std::int64_t* send_at, const void* send_types, void* recv,
              const std::int64_t* recv_counts, const std::int64_t* recv_at, const void* recv_types,
              entry::Word comm);

}  // namespace alm::mpi::large_counts
