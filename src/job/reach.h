// Which of several networks carries packets between the hosts of a job. Each host says hello over
// all of them at once, to those 1, 2, 4, ... places after it: what is not cabled, filtered or
// another network under the same numbers is heard of by nobody.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "job/agreement.h"
#include "job/bootstrap.h"
#include "job/random_key.h"

namespace alm::job {

struct Reach {
  std::size_t network = 0;  // the first that carries; 0, too, if none does
  bool carries = false;
  // Why networks before it are passed over: for each the host that has not been heard, and by whom.
  struct Gap {
    std::string from, to;
  };
  std::vector<Gap> gaps;
};

// Collective over `comm`, MPI_COMM_WORLD. `addresses`: of this rank, network by network, as many on
// every rank; empty: there is none here. Takes `patience` where the first network does not carry,
// and as long again for the others.
base::Result<Reach> find_reach(Bootstrap& bootstrap, CommHandle comm,
                               std::span<const JobRecord> records, std::uint32_t self,
                               std::span<const std::string> addresses,
                               const RandomBytes& random_bytes, base::Nanos patience);

}  // namespace alm::job
