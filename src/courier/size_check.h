// Checks that every rank expects the sizes that the others send. A receiver of MPI messages cannot
// tell that something is missing, so ranks compare sizes before they send.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/result.h"
#include "job/bootstrap.h"
#include "meeting/members.h"

namespace alm::courier {

struct SizesDiffer {
  base::Error error;
  bool known_to_all = false;  // false: only this rank has the error
};

// Collective. `sends`, `expects`: bytes to and from each rank. Nothing: they agree.
std::optional<SizesDiffer> compare_sizes(job::Bootstrap& bootstrap, job::CommHandle comm,
                                         const meeting::Members& members,
                                         std::span<const std::uint64_t> sends,
                                         std::span<const std::uint64_t> expects);

}  // namespace alm::courier
