// Tells the tally which way each exchange of a communicator takes, and the bound where it is known.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "base/time.h"
#include "job/job.h"
#include "meeting/members.h"
#include "tally/tally.h"
#include "tuning/candidates.h"
#include "ways/repertoire.h"

namespace alm::communicator {

class TakenWays {
 public:
  TakenWays(job::Job& job, const meeting::Members& members, const ways::Repertoire& ways)
      : job_(job), members_(members), ways_(ways) {}

  // `taken` may be null. `decided`: no trial is under way. `bytes`: of each block, where all are
  // equal.
  void note(tally::Taken* taken, tuning::Way way, bool decided, std::uint64_t bytes = 0);

  // A nonblocking exchange is over that began at `begin`.
  void note_end(const char* function, tuning::Way way, std::uint64_t bytes, base::Nanos begin);

 private:
  struct Known {
    tuning::Way way;
    bool decided = false;
    tally::WayId id = tally::kNoWay;
  };

  tally::WayId id_of(tuning::Way way, bool decided);
  base::Nanos bound(std::uint64_t bytes);

  job::Job& job_;
  const meeting::Members& members_;
  const ways::Repertoire& ways_;
  std::mutex mutex_;  // a thread of ours may carry nonblocking calls out
  std::vector<Known> known_;
  std::map<std::uint64_t, base::Nanos> bounds_;  // [bytes]
};

}  // namespace alm::communicator
