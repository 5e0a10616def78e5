// MPI_Alltoall_init and its v and w forms: what the program has described once, and starts again
// and again. A thread carries out each start: it finds that there is one, exchanges, and completes
// the request.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/time.h"
#include "communicator/nonblocking_queue.h"
#include "courier/block_staging.h"
#include "courier/calls.h"
#include "courier/staging.h"
#include "job/ops.h"

namespace alm::communicator {

struct KeptAlltoall {
  KeptAlltoall(job::MpiOps& ops, const courier::AlltoallCall& described)
      : call(described), types(ops) {
    types.hold(call.recv);
    if (!call.in_place) types.hold(call.send);
  }

  courier::AlltoallCall call;
  courier::Staging staging;
  HeldTypes types;
};

struct KeptBlocks {
  KeptBlocks(job::MpiOps& ops, const courier::BlockCall& described)
      : call(described),
        send(described.send.begin(), described.send.end()),
        recv(described.recv.begin(), described.recv.end()),
        types(ops) {
    types.hold(recv);
    types.hold(send);
    call.recv = recv;
    call.send = send;
  }

  courier::BlockCall call;
  std::vector<job::TypedBuffer> send, recv;
  courier::BlockStaging staging;
  HeldTypes types;
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
