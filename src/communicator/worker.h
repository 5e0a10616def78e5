// A thread that carries out the nonblocking exchanges of one communicator, in the order in which
// they were started. Each communicator has one: ranks may start exchanges on several communicators
// in different orders, and an exchange that waits for a late rank must not hold up others.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "base/time.h"
#include "job/start_thread.h"

namespace alm::communicator {

class Worker {
 public:
  using Task = std::function<void()>;
  // Looks for something to do, and does it. `called`: look() has called for it. Returns after which
  // time to look again without being called.
  using Watch = std::function<base::Nanos(bool called)>;

  // Starts the thread, signals blocked; throws std::system_error.
  explicit Worker(job::StartThread start = job::start_thread);
  ~Worker();  // carries out what is queued, then ends the thread
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Tasks must not throw.
  void queue(Task task);
  // From now on the thread looks by this, where it has nothing else to do; null: it no longer does.
  // What looks at this moment ends first.
  void watch(Watch watch);
  // Lets it look at once.
  void look();
  bool idle() const;
  // Waits until everything queued has been carried out.
  void drain();

 private:
  void work();
  bool called() const { return stop_ || called_ || !tasks_.empty(); }

  mutable std::mutex mutex_;
  std::condition_variable wake_, drained_;
  std::deque<Task> tasks_;
  Watch watch_;
  base::Nanos look_after_ = 0;
  bool called_ = false;  // by look()
  bool busy_ = false;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace alm::communicator
