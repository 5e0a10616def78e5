// MPI_Ialltoall, MPI_Ialltoallv and MPI_Ialltoallw: the call packs what is sent and queues the
// exchange; a thread of the communicator's own carries it out, unpacks, and completes the request.
//
// The thread calls no collective on the user's communicator: it would mix with those that the
// program calls meanwhile. Only blocking calls do what needs a collective (trials, comparing sizes
// before MPI messages); they wait for the exchanges queued before them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/result.h"
#include "communicator/worker.h"
#include "courier/block_staging.h"
#include "courier/calls.h"
#include "courier/staging.h"
#include "job/ops.h"

namespace alm::communicator {

// Keeps datatypes alive that the user may free as soon as the call has returned.
class HeldTypes {
 public:
  explicit HeldTypes(job::MpiOps& ops) : ops_(ops) {}
  ~HeldTypes();
  HeldTypes(const HeldTypes&) = delete;
  HeldTypes& operator=(const HeldTypes&) = delete;

  void hold(job::TypedBuffer& buffer);
  void hold(std::vector<job::TypedBuffer>& blocks);

 private:
  job::MpiOps& ops_;
  std::vector<job::TypeHandle> held_;
};

// The state of a queued MPI_Ialltoall. The data to send is packed already.
struct QueuedAlltoall {
  QueuedAlltoall(job::MpiOps& ops, const courier::AlltoallCall& described)
      : call(described), types(ops) {
    types.hold(call.recv);
  }

  courier::AlltoallCall call;
  courier::Staging staging;
  HeldTypes types;
};

// The state of a queued MPI_Ialltoallv or MPI_Ialltoallw.
struct QueuedBlocks {
  QueuedBlocks(job::MpiOps& ops, const courier::BlockCall& described)
      : call(described),
        mean_bytes(described.mean_bytes()),
        recv(described.recv.begin(), described.recv.end()),
        types(ops) {
    types.hold(recv);
  }
  // After staging the call needs only `recv`, described by types that are held.
  void detach() {
    call.recv = recv;
    call.send = {};
  }

  courier::BlockCall call;
  std::uint64_t mean_bytes;
  std::vector<job::TypedBuffer> recv;
  courier::BlockStaging staging;
  HeldTypes types;
};

class NonblockingQueue {
 public:
  // `mpi` is null without MPI; then nothing may be queued.
  NonblockingQueue(job::MpiOps* mpi, job::CommHandle comm,
                   std::shared_ptr<const job::CommLife> life)
      : mpi_(mpi), comm_(comm), life_(std::move(life)) {}

  // Starts the thread. Nothing may be added before.
  base::Status begin(job::StartThread start);
  bool begun() const { return worker_ != nullptr; }
  // `exchange` is carried out after those queued before; then `request` completes. It must not
  // throw.
  base::Status add(std::function<job::Outcome()> exchange, job::RequestHandle& request);
  // The thread carries out what is started of a persistent request, until unwatch().
  void watch(Worker::Watch watch) { worker_->watch(std::move(watch)); }
  void unwatch() {
    if (worker_) worker_->watch(nullptr);
  }
  void look() {
    if (worker_) worker_->look();
  }
  // Waits for what has been queued.
  void settle();
  bool idle() const { return !worker_ || worker_->idle(); }
  // Carries out what is queued, then ends the thread.
  void end() { worker_.reset(); }

 private:
  job::MpiOps* mpi_;
  job::CommHandle comm_;
  std::shared_ptr<const job::CommLife> life_;
  std::unique_ptr<Worker> worker_;
};

}  // namespace alm::communicator
