// Who the ranks of a communicator are and where they are. Data, filled in by bring-up; equal on all
// ranks except `self`, `host` and parts of `routes`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "meeting/found_routes.h"
#include "plan/placement.h"
#include "plan/plan.h"
#include "plan/tune.h"

namespace alm::meeting {

struct Members {
  std::uint32_t ranks = 0;
  std::uint32_t self = 0;               // this rank
  std::uint32_t host = 0;               // its host, in the placement
  std::vector<std::string> host_names;  // [rank]
  plan::Placement placement;
  std::vector<base::HostId> hosts;   // [host] in the cluster file; empty without one
  plan::LeafOf leaves;               // by host
  std::vector<std::uint32_t> sites;  // [host]; empty: the algorithm uses no sites
  std::vector<std::string> site_names;
  base::Nanos far_round_trip = 0;      // the longest between sites, as measured; 0: not measured
  std::optional<plan::Tuning> tuning;  // from the cluster file
  std::uint32_t leaders = 1;           // the first so many ranks of each host
  FoundRoutes routes;                  // to the other hosts; on leaders
  std::uint32_t paths = 1;             // to each other host

  // Whether this rank is its host's leader.
  bool leads() const { return placement.leads(self); }
  // This rank's number among the leaders of its host, if is_leader().
  std::uint32_t leader() const { return placement.local_rank[self]; }
  bool is_leader() const { return leader() < leaders; }
  // How many lanes there are: one for each leader, where hosts have several and no other ranks.
  std::uint32_t lanes() const { return leaders > 1 && placement.all_lead(leaders) ? leaders : 0; }

  // Average bytes that the ranks of one host send to those of another in an exchange of blocks of
  // `bytes`; equal on all ranks.
  std::uint64_t host_block(std::uint64_t bytes) const;

  std::string name_of(std::uint32_t rank) const;  // "rank 3 on h1", "rank 3 on h1 at nancy"
  std::vector<std::string> rank_names() const;
  std::string host_text(std::uint32_t host) const;  // "h3 (ranks 12, 13, 14, 15)"

 private:
  std::string at_site(std::uint32_t host) const;  // empty: no sites are known
};

}  // namespace alm::meeting
