// Whether the program still has a communicator. While exchanges on it run in threads of ours it may
// free it, and MPI takes a handle that is freed for an error.
#pragma once

#include <atomic>
#include <mutex>

namespace alm::job {

class CommLife {
 public:
  // Comes before MPI_Comm_free, from outside of MPI: from now on ask() does not ask.
  void let_go() {
    const std::lock_guard lock(mutex_);
    let_go_ = true;
  }
  // Called from inside MPI when the communicator is freed: it waits for nobody.
  void end() { ended_.store(true); }
  bool ended() const { return ended_.load(); }

  // What `question`, which gives the handle to MPI, answers; false: it may not be asked any more.
  template <class Question>
  bool ask(Question question) {
    const std::lock_guard lock(mutex_);
    return !let_go_ && !ended() && question();
  }

 private:
  std::mutex mutex_;
  bool let_go_ = false;
  std::atomic<bool> ended_ = false;
};

}  // namespace alm::job
