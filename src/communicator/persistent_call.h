// MPI_Alltoall_init and its v and w forms: what the program has described once, and starts again
// and again. A thread carries out each start: it finds that there is one, exchanges, and completes
// the request.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/time.h"
#include "communicator/nonblocking_queue.h"
#include "courier/calls.h"
#include "job/ops.h"

namespace alm::communicator {

// Each start packs the data anew, so that what describes it is kept, too.
struct KeptAlltoall : QueuedAlltoall {
  KeptAlltoall(job::MpiOps& ops, const courier::AlltoallCall& described)
      : QueuedAlltoall(ops, described) {
    if (!call.in_place) types.hold(call.send);
  }
};

struct KeptBlocks : QueuedBlocks {
  KeptBlocks(job::MpiOps& ops, const courier::BlockCall& described)
      : QueuedBlocks(ops, described), send(described.send.begin(), described.send.end()) {
    types.hold(send);
    detach();
    call.send = send;
  }

  std::vector<job::TypedBuffer> send;
};

// Looks whether the request has been started, and carries that out: what a Worker watches by.
class PersistentWatch {
 public:
  PersistentWatch(std::shared_ptr<job::PersistentRequest> request,
                  std::function<job::Outcome()> exchange)
      : request_(std::move(request)), exchange_(std::move(exchange)) {}

  // `called`: because a start has been seen. After which time to look again.
  base::Nanos look(bool called);

 private:
  bool find(bool announced);

  std::shared_ptr<job::PersistentRequest> request_;
  std::function<job::Outcome()> exchange_;
  bool unseen_ = false;  // the program starts it by functions that are not seen
};

}  // namespace alm::communicator
