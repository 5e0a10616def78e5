// The calls of a program that are carried out here, described without <mpi.h>.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "job/ops.h"
#include "tally/tally.h"

namespace alm::courier {

// Blocks of one size: MPI_Alltoall, MPI_Ialltoall.
struct AlltoallCall {
  const char* name = "MPI_Alltoall";  // of the MPI function
  job::CommHandle comm = 0;
  bool in_place = false;
  job::TypedBuffer send;  // not used when in place
  job::TypedBuffer recv;
  std::function<int()> native;    // the same call, by the MPI library; its error code
  tally::Taken* taken = nullptr;  // to be filled in; null: not asked for

  // Per pair of ranks; MPI makes this equal on all of them.
  std::uint64_t bytes() const { return in_place ? recv.bytes() : send.bytes(); }
};

// Blocks of any size: MPI_Alltoallv, MPI_Alltoallw and their nonblocking forms. Buffers lie [rank],
// with the displacement added to their base.
struct BlockCall {
  const char* name = "";  // of the MPI function
  job::CommHandle comm = 0;
  bool in_place = false;
  std::span<const job::TypedBuffer> send;  // as `recv` when in place
  std::span<const job::TypedBuffer> recv;
  std::function<int()> native;    // the same call, by the MPI library; its error code
  tally::Taken* taken = nullptr;  // to be filled in; null: not asked for
};

}  // namespace alm::courier
