// MPI_Ialltoall, MPI_Ialltoallv and MPI_Ialltoallw: the call packs what is sent and queues the
// exchange; a thread of the communicator's own carries it out, unpacks, and completes the request.
//
// The thread calls no collective on the user's communicator: it would come between those the
// program calls meanwhile. What needs one (trials, comparing sizes before MPI messages) is left to
// blocking calls. Those wait for the exchanges queued before them.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/result.h"
#include "mpi/block_staging.h"
#include "mpi/calls.h"
#include "mpi/ops.h"
#include "mpi/staging.h"
#include "mpi/worker.h"

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

// What an exchange under way refers to. Of an MPI_Ialltoall: sent data is packed already.
struct QueuedAlltoall {
  QueuedAlltoall(MpiOps& ops, const AlltoallCall& described) : call(described), types(ops) {
    types.hold(call.recv);
  }

  AlltoallCall call;
  Staging staging;
  HeldTypes types;
};

// Of an MPI_Ialltoallv or MPI_Ialltoallw.
struct QueuedBlocks {
  QueuedBlocks(MpiOps& ops, const BlockCall& described)
      : call(described), recv(described.recv.begin(), described.recv.end()), types(ops) {
    types.hold(recv);
  }
  // Blocks sent are packed or stay where they are; those of `recv` are described by types held.
  void detach() {
    call.recv = recv;
    call.send = {};
  }

  BlockCall call;
  std::vector<TypedBuffer> recv;
  BlockStaging staging;
  HeldTypes types;
};

class NonblockingQueue {
 public:
  // `freed`: the user has freed the communicator.
  NonblockingQueue(MpiOps& ops, CommHandle comm, std::shared_ptr<const std::atomic<bool>> freed)
      : ops_(ops), comm_(comm), freed_(std::move(freed)) {}

  // `exchange` is carried out after those queued before; then `request` completes. It must not
  // throw.
  base::Status add(std::function<Outcome()> exchange, RequestHandle& request);
  // Waits for what has been queued.
  void settle();
  bool idle() const { return !worker_ || worker_->idle(); }
  // Carries out what is queued, and ends the thread.
  void end() { worker_.reset(); }

 private:
  MpiOps& ops_;
  CommHandle comm_;
  std::shared_ptr<const std::atomic<bool>> freed_;
  std::unique_ptr<Worker> worker_;  // from the first use on
};

}  // namespace alm::mpi
