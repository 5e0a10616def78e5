// The trial of one size class of a communicator's exchanges.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tuning/bursts.h"
#include "tuning/candidates.h"
#include "tuning/decisions.h"
#include "tuning/trial.h"

namespace alm::communicator {

// Which blocks of any size a trial is of.
enum class Blocks { kOfAnySize, kOfNeighbours };

struct Tried {
  std::uint64_t bytes = 0;        // of the first call
  std::uint64_t least_bytes = 0;  // of any; not where blocks have any size
  bool any_size = false;          // blocks of any size; `bytes` is what the fullest rank carries
  Blocks blocks = Blocks::kOfAnySize;
  std::vector<tuning::Way> ways;
  std::vector<base::Nanos> predicted;  // [way] by the profile; 0: not known
  std::vector<base::Nanos> stalls;     // [way] by its packets; 0: it waits for no time-outs
  tuning::Trial trial;
  tuning::Bursts bursts;
  std::optional<tuning::Decision> adopted;  // of an earlier job, until it is refuted
  std::optional<tuning::Decision> kept;     // the decision before the trial was last reopened

  // What has been logged of it (report.h).
  std::uint32_t told_reopened = 0;
  std::optional<std::size_t> told_way;

  std::string_view calls() const {
    if (!any_size) return tuning::kCallsOfOneSize;
    return blocks == Blocks::kOfNeighbours ? tuning::kCallsOfNeighbours : tuning::kCallsOfAnySize;
  }
  tuning::Way way() const { return ways[trial.way()]; }  // for the next call
};

}  // namespace alm::communicator
