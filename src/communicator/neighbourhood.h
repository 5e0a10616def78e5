// Who the neighbours of each rank of a communicator with a topology are, and their exchanges as
// those of blocks of any size. The MPI library tells each rank its own neighbours; where there are
// not too many ranks, they tell each other.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "courier/calls.h"
#include "job/ops.h"
#include "plan/placement.h"

namespace alm::communicator {

class Neighbourhood {
 public:
  // Collective over `comm`. An error: this rank alone may not know.
  base::Status learn(job::MpiOps& mpi, job::CommHandle comm, std::uint32_t ranks,
                     std::uint32_t self);

  // The call as blocks, which refer to this until the next call. Between two ranks there may be
  // several edges: their buffers travel together, in the order that the sender has them in.
  courier::BlockCall blocks_of(const courier::NeighbourCall& call);

  // Whether every rank reaches every other by edges, and all know that. The standard then makes
  // blocks of one size equal on all ranks, because they are equal along every edge.
  bool connected() const { return connected_; }
  // Where they are connected: the blocks of the rank that sends or receives the most, by the edges
  // between ranks.
  std::uint64_t fullest() const { return fullest_; }
  // The same: blocks from each host to each other, [from * hosts + to].
  std::vector<std::uint64_t> between_hosts(const plan::Placement& placement) const;
  // What no rank sends or receives more of in this call, edges to itself included; 0: not known.
  // Equal on all ranks.
  std::uint64_t most_bytes(const courier::NeighbourCall& call) const;

 private:
  base::Status learn_of_others(job::MpiOps& mpi, job::CommHandle comm);
  bool reaches_all() const;

  std::uint32_t ranks_ = 0, self_ = 0;
  // What travels, in this order: slots of the call, and the rank that each is for or from.
  std::vector<std::uint32_t> send_slots_, send_to_, recv_slots_, recv_from_;
  std::vector<std::uint32_t> edges_;  // [from * ranks + to]; empty: not known
  bool connected_ = false;
  std::uint64_t fullest_ = 0, fullest_with_own_ = 0;
  std::vector<job::TypedBuffer> send_, recv_;  // of the latest call
};

}  // namespace alm::communicator
