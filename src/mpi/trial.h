// Never slower: which way the exchanges of one communicator and size class take, ours or the MPI
// library's own. The first calls take both ways in turn and are timed; the ranks agree on the times
// of the slowest (the caller reduces them), hence on the way, and keep it. From time to time they
// compare again how long it takes now: drift reopens the trial. Pure: every rank makes the same
// calls in the same order, so that all of them stand at the same point.
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"

namespace alm::mpi {

enum class Way : std::uint8_t { kOurs, kNative };

class Trial {
 public:
  // The way the next call takes.
  Way way() const;
  // It has been taken, and took so long on this rank.
  void took(base::Nanos time);

  // True when the ranks are to agree before the next call: on the maximum over all ranks of each of
  // times(), given to agree() in the same order.
  bool due() const { return due_; }
  const std::vector<base::Nanos>& times() const { return times_; }
  void agree(const std::vector<base::Nanos>& slowest);

  bool decided() const { return decided_; }
  // What the decision rests on: the best time of the slowest rank, each way; 0 while not known.
  base::Nanos best(Way way) const { return way == Way::kOurs ? ours_ : native_; }
  std::uint32_t reopened() const { return reopened_; }

 private:
  void decide();

  std::vector<base::Nanos> times_;  // not yet agreed on; ours first, then native, and so on
  bool due_ = false;
  bool decided_ = false;
  Way chosen_ = Way::kOurs;
  std::uint32_t pairs_ = 0;  // taken in this trial
  base::Nanos ours_ = 0, native_ = 0;
  std::uint64_t calls_ = 0;      // since the decision
  std::uint64_t next_look_ = 0;  // at which the ranks compare again
  base::Nanos recent_ = 0;       // smoothed, on this rank
  std::uint32_t reopened_ = 0;
};

}  // namespace alm::mpi
