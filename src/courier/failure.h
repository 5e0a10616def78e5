// How a communicator fails: once, for good. A failed exchange leaves the ranks in different states,
// so nothing runs after it; every later call raises the same error.
#pragma once

#include <atomic>
#include <exception>
#include <functional>

#include "base/result.h"
#include "courier/courier.h"
#include "job/job.h"
#include "meeting/members.h"

namespace alm::courier {

base::Error error_of(const std::exception& thrown);

class Failure {
 public:
  Failure(job::Job& job, job::CommHandle comm, const meeting::Members& members, Courier& courier)
      : job_(job), comm_(comm), members_(members), courier_(courier) {}

  bool happened() const { return happened_.load(); }
  const base::Error& error() const { return error_; }  // once it has happened

  // An exchange has failed on other ranks too, or because a rank is lost. Tells the ranks that may
  // not know. Any thread; only the first call counts.
  const base::Error& give_up(const char* function, const base::Error& error);
  // An error of this rank alone. It tells the others, which would wait for it because it is alive.
  const base::Error& withdraw(const char* function, const base::Error& error);

  // Carries out what is queued, in the thread for that, which must not throw. Nothing runs after a
  // failure.
  job::Outcome guarded(const char* function, const std::function<job::Outcome()>& carry);

  // Raises the error through the communicator's error handler; returns its code. In the program's
  // thread.
  int raise() const { return job_.bootstrap.raise(comm_, error_); }

 private:
  job::Job& job_;
  job::CommHandle comm_;
  const meeting::Members& members_;
  Courier& courier_;
  base::Error error_;  // set before happened_ tells of it
  std::atomic<bool> happened_{false};
};

}  // namespace alm::courier
