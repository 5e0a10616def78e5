// Our pending requests, and threads that wait for them without polling: MPI_Wait of a generalized
// request spins, and would take a core from the thread that completes the request.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "job/ops.h"

namespace alm::mpi {

class Sleepers {
 public:
  struct Pending {
    std::mutex mutex;
    std::condition_variable over;
    bool done = false;
  };

  std::shared_ptr<Pending> add(job::RequestHandle request);
  // Must be called before the request is completed: after that, MPI may reuse its handle.
  void remove(job::RequestHandle request);
  // Null: the request is not ours, or is complete.
  std::shared_ptr<Pending> find(job::RequestHandle request);

  static void wake(Pending& pending);
  static void sleep(Pending& pending);

 private:
  std::mutex mutex_;
  std::unordered_map<job::RequestHandle, std::shared_ptr<Pending>> pending_;
};

}  // namespace alm::mpi
