// Who the ranks of a communicator are and where they are. Data, made by joining (bring_up.h); equal
// on all ranks but for `self` and `host`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "mpi/settings.h"
#include "plan/placement.h"
#include "plan/plan.h"

namespace alm::mpi {

struct Members {
  std::uint32_t ranks = 0;
  std::uint32_t self = 0;               // this rank
  std::uint32_t host = 0;               // its host, in the placement
  std::vector<std::string> host_names;  // [rank]
  plan::Placement placement;
  std::vector<base::HostId> hosts;     // [host] in the cluster file; empty without one
  plan::LeafOf leaves;                 // of the hosts
  std::optional<plan::Tuning> tuning;  // by the cluster file

  bool leads() const { return placement.leads(self); }

  // What the ranks of a host send those of another in one exchange of blocks of `bytes`, on
  // average: equal on all ranks.
  std::uint64_t host_block(std::uint64_t bytes) const;

  std::string name_of(std::uint32_t rank) const;  // "rank 3 on h1"
  std::vector<std::string> rank_names() const;
  std::string host_text(std::uint32_t host) const;  // "h3 (ranks 12, 13, 14, 15)"
};

}  // namespace alm::mpi
