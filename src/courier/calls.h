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
  bool persistent = false;  // MPI_Alltoall_init
  job::TypedBuffer send;    // not used when in place
  job::TypedBuffer recv;
  std::function<int()> native;  // the same call, by the MPI library; its error code
  // The same on another communicator of the same ranks in the same order.
  std::function<int(job::CommHandle on)> native_on;
  tally::Taken* taken = nullptr;  // to be filled in; null: not asked for

  // Per pair of ranks; MPI makes this equal on all of them.
  std::uint64_t bytes() const { return in_place ? recv.bytes() : send.bytes(); }
};

inline std::uint64_t mean_bytes_of(std::span<const job::TypedBuffer> blocks) {
  std::uint64_t bytes = 0;
  for (const job::TypedBuffer& block : blocks) bytes += block.bytes();
  return blocks.empty() ? 0 : bytes / blocks.size();
}

// Blocks of any size: MPI_Alltoallv, MPI_Alltoallw and their nonblocking forms. Buffers lie [rank],
// with the displacement added to their base, or belong to the ranks that `send_to` and `recv_from`
// name: in the order in which those of one rank travel.
struct BlockCall {
  const char* name = "";  // of the MPI function
  job::CommHandle comm = 0;
  bool in_place = false;
  bool persistent = false;                 // MPI_Alltoallv_init, MPI_Alltoallw_init
  std::span<const job::TypedBuffer> send;  // as `recv` when in place
  std::span<const job::TypedBuffer> recv;
  std::span<const std::uint32_t> send_to = {}, recv_from = {};  // [buffer] rank; empty: its index
  std::function<int()> native;    // the same call, by the MPI library; its error code
  tally::Taken* taken = nullptr;  // to be filled in; null: not asked for

  std::uint64_t mean_bytes() const { return mean_bytes_of(send); }
};

// Blocks to and from the neighbours of a topology: MPI_Neighbor_alltoall, its v and w forms and
// their nonblocking forms.
// Buffers lie [slot] (job::Neighbours).
struct NeighbourCall {
  const char* name = "";  // of the MPI function
  job::CommHandle comm = 0;
  bool one_size = false;  // neither v nor w: all blocks of a rank
  std::span<const job::TypedBuffer> send;
  std::span<const job::TypedBuffer> recv;
  std::function<int()> native;    // the same call, by the MPI library; its error code
  tally::Taken* taken = nullptr;  // to be filled in; null: not asked for

  // Of what comes.
  std::uint64_t mean_bytes() const { return mean_bytes_of(recv); }
};

}  // namespace alm::courier
