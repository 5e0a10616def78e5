// What a nonblocking exchange keeps from the call that starts it to its end.
#pragma once

#include <memory>
#include <vector>

#include "mpi/block_staging.h"
#include "mpi/communicator.h"
#include "mpi/ops.h"
#include "mpi/staging.h"

namespace alm::mpi {

// Datatypes that the user may free as soon as the call has returned.
class HeldTypes {
 public:
  explicit HeldTypes(MpiOps& ops) : ops_(ops) {}
  ~HeldTypes();
  HeldTypes(const HeldTypes&) = delete;
  HeldTypes& operator=(const HeldTypes&) = delete;

  void hold(TypedBuffer& buffer);
  void hold(std::vector<TypedBuffer>& blocks);

 private:
  MpiOps& ops_;
  std::vector<TypeHandle> held_;
};

// Of an MPI_Ialltoall: sent data is packed already.
struct QueuedExchange {
  explicit QueuedExchange(MpiOps& ops) : types(ops) {}

  AlltoallCall call;
  Staging staging;
  HeldTypes types;
  std::unique_ptr<PendingRequest> request;
};

// Of an MPI_Ialltoallv or MPI_Ialltoallw.
struct QueuedBlocks {
  explicit QueuedBlocks(MpiOps& ops) : types(ops) {}

  BlockCall call;  // its blocks of `recv` are those below; those of `send` are not looked at again
  std::vector<TypedBuffer> recv;
  BlockStaging staging;
  HeldTypes types;
  std::unique_ptr<PendingRequest> request;
};

}  // namespace alm::mpi
