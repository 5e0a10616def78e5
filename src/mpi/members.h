// Who the ranks of a communicator are and where they are. Data, made by joining (bring_up.h); equal
// on all ranks but for `self` and `host`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "mpi/found_ways.h"
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
  std::vector<base::HostId> hosts;   // [host] in the cluster file; empty without one
  plan::LeafOf leaves;               // of the hosts
  std::vector<std::uint32_t> sites;  // [host]; empty: the algorithm knows none
  std::vector<std::string> site_names;
  base::Nanos far_round_trip = 0;      // between sites at most, as measured; 0: it was not
  std::optional<plan::Tuning> tuning;  // by the cluster file
  std::uint32_t leaders = 1;           // of each host, its first ranks
  FoundWays ways;                      // to the hosts, on their leaders

  // The host leader.
  bool leads() const { return placement.leads(self); }
  // Which of the leaders of its host this rank is, if it is one.
  std::uint32_t leader() const { return placement.local_rank[self]; }
  bool is_leader() const { return leader() < leaders; }
  // Lanes between every two ranks, where hosts have several leaders and nobody else.
  std::uint32_t lanes() const { return leaders > 1 && placement.all_lead(leaders) ? leaders : 0; }

  // What the ranks of a host send those of another in one exchange of blocks of `bytes`, on
  // average: equal on all ranks.
  std::uint64_t host_block(std::uint64_t bytes) const;

  std::string name_of(std::uint32_t rank) const;  // "rank 3 on h1", "rank 3 on h1 at nancy"
  std::vector<std::string> rank_names() const;
  std::string host_text(std::uint32_t host) const;  // "h3 (ranks 12, 13, 14, 15)"

 private:
  std::string at_site(std::uint32_t host) const;  // empty: no sites are known
};

}  // namespace alm::mpi
