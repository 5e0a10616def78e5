// How a communicator fails: once, for good. A failed exchange leaves the ranks in different states,
// so nothing of ours runs after it; every later call raises the same error.
//
// Where two ranks do not agree on the size of a block, others may have all they need. They go on
// with a trial, and need this rank alive: in calls that the MPI library carries, and when they
// agree on what they have measured. So this rank follows them: it takes part in the library's
// calls, raises its error after each, and says in the next agreement that it has failed. Then all
// ranks know it, and nobody follows any more (docs/adr/0102-ranks-that-follow.md).
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <span>

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
  // Whether calls from here on do nothing but raise the error: it has happened, and this rank does
  // not follow others.
  bool is_final() const { return happened() && !follows_; }
  const base::Error& error() const { return error_; }  // once it has happened

  // An exchange has failed on other ranks too, or because a rank is lost. Tells the ranks that may
  // not know. Any thread; only the first call counts.
  const base::Error& give_up(const char* function, const base::Error& error);
  // An error of this rank alone. It tells the others, which would wait for it because it is alive.
  const base::Error& withdraw(const char* function, const base::Error& error);

  // Makes each word the largest that any rank has given, by a collective of the MPI library. Where
  // a rank follows the others all ranks get an error, and the failure is final.
  base::Status agree_on_most(const char* function, std::span<std::uint64_t> words);

  // Carries out what is queued, in the thread for that, which must not throw. Nothing runs after a
  // failure.
  job::Outcome guarded(const char* function, const std::function<job::Outcome()>& carry);

  // Raises the error through the communicator's error handler; returns its code. In the program's
  // thread.
  int raise() const { return job_.bootstrap.raise(comm_, error_); }

 private:
  bool can_follow() const;

  job::Job& job_;
  job::CommHandle comm_;
  const meeting::Members& members_;
  Courier& courier_;
  base::Error error_;  // set before happened_ tells of it
  std::atomic<bool> happened_{false};
  std::atomic<bool> follows_{false};
};

}  // namespace alm::courier
