// Requests of ours that are under way, and threads that wait for them without polling: MPI_Wait of
// a generalized request spins, and would take a core from the thread that is to complete it.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "mpi/ops.h"

namespace alm::mpi {

class Sleepers {
 public:
  struct Pending {
    std::mutex mutex;
    std::condition_variable over;
    bool done = false;
  };

  std::shared_ptr<Pending> add(RequestHandle request);
  // Before the request is completed: from then on its handle may stand for another.
  void remove(RequestHandle request);
  // Null: not one of ours, or complete.
  std::shared_ptr<Pending> find(RequestHandle request);

  static void wake(Pending& pending);
  static void sleep(Pending& pending);

 private:
  std::mutex mutex_;
  std::unordered_map<RequestHandle, std::shared_ptr<Pending>> pending_;
};

}  // namespace alm::mpi
