// What the ranks of a communicator know about each other's counts in MPI_Alltoallv and
// MPI_Alltoallw, and the steps made from them.
//
// A rank knows its own counts alone. In a small exchange, an agreement, each rank tells the others
// how much it has to carry and whether its counts have changed. From that all ranks know whether
// the exchange that follows is worth a plan, and whether any counts have changed; if so, all counts
// travel in a second small exchange and new steps are made. When the ranks agree follows from
// earlier agreements, so that all of them do it at the same call: at every call where the exchange
// is large beside the agreement, ever more rarely where it is small. All counts together grow with
// the square of the ranks: where they change again and again, they travel only when the exchanges
// since have paid for it. Where no rank has anything for more than a quarter of the others, an
// agreement with all of them costs more than it can save: they agree ever more rarely, whatever
// changes, and take the usual rounds. Of up to plan::kUnevenRanksMax ranks all but the first of
// these agreements, and those after partners have changed, go along a tree of partners
// (partner_tree.h); where partners do not connect all ranks, with an edge more for each part. In
// between, a rank whose counts
// have changed sends in the usual rounds. That costs time and nothing else, because each rank
// chooses its order of sending by itself.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "carrier/partner_tree.h"
#include "carrier/udp_group.h"
#include "execute/execution.h"
#include "topology/cluster.h"

namespace alm::carrier {

class UnevenSteps {
 public:
  // What steps are made for: the network, and where the members are in it.
  struct Network {
    const topology::Cluster* cluster = nullptr;  // null: no steps, but paths may be known
    double packet_time_us = 0;
    std::vector<base::HostId> hosts;
    // The path to each peer of `send`, from [from * members + to] bytes; null: the sender chooses.
    std::function<std::vector<std::uint8_t>(std::span<const std::uint64_t> bytes,
                                            std::span<const base::PeerId> send)>
        paths = nullptr;
    // Of an exchange in which no two blocks share a link (plan::unshared); 0: as of all others.
    std::uint32_t unshared_window = 0;
  };

  // The group and the cluster must live as long as this.
  UnevenSteps(UdpGroup& group, Network network);

  // Collective over the members, before every exchange. `send`, `recv`: bytes to and from each
  // member. `wants_steps`, the same on all members, says for a load() whether this exchange will
  // take the steps.
  using WantsSteps = std::function<bool(std::uint64_t load)>;
  base::Status prepare(std::span<const std::uint64_t> send, std::span<const std::uint64_t> recv,
                       const WantsSteps& wants_steps = {});
  // Runs the exchange that was prepared, in the steps made for it, else in the usual rounds. Where
  // there are sites, near and far blocks go in phases of their own.
  base::Status run(transport::Exchange exchange);
  // The rounds of run() where hosts are at one site.
  const base::Rounds& rounds() const;

  // The load_of() the fullest member, as last agreed on.
  std::uint64_t load() const { return load_; }
  bool planned() const { return planned_; }
  // The least time that the links of the cluster file allow for the counts last told; 0: not known.
  base::Nanos least_time() const { return least_time_; }

  // What a member has to carry: the larger of what it sends and what it receives, without its own
  // block.
  static std::uint64_t load_of(std::span<const std::uint64_t> send,
                               std::span<const std::uint64_t> recv, std::uint32_t self);
  // How many calls go by until the next agreement, after `without_news` agreements in a row without
  // news and with a load() of `load` bytes. `latency_bytes`: what a host's link carries in the
  // latency of the network, for which the small exchange waits. Where exchanges are sparse, all
  // agreements count as without news.
  static std::uint64_t calls_between(std::uint64_t load, std::uint32_t without_news,
                                     std::uint64_t latency_bytes = 0, bool sparse = false);

 private:
  // What a member tells in an agreement. Of all members, the largest counts.
  enum Word : std::uint8_t {
    kLoad,
    kNews,      // 1: its counts are others than in the agreement before
    kPartners,  // members to which something goes, or from which it comes
    kStrays,    // 1: the tree leads to members that are no partners any more; told along it alone
    kWords
  };
  using Told = std::array<std::uint64_t, kWords>;

  bool uses_counts() const { return network_.cluster != nullptr || network_.paths; }
  base::Status agree(std::uint64_t hash, std::span<const std::uint64_t> send,
                     std::span<const std::uint64_t> recv, const WantsSteps& wants_steps);
  base::Status compare(Told& told);
  base::Status meet_partners(std::span<const std::uint64_t> row);
  std::uint64_t matrix_cost() const;
  void make_steps(std::span<const std::uint64_t> matrix);
  void make_trains(std::span<const std::uint64_t> matrix);
  bool is_lone(std::span<const std::uint64_t> matrix, double limit_us) const;

  UdpGroup& group_;
  Network network_;
  std::uint64_t latency_bytes_ = 0;

  std::uint64_t told_hash_ = 0;      // of this member's counts, in the latest agreement
  std::optional<PartnerTree> tree_;  // where the latest agreement has found exchanges sparse
  std::uint64_t load_ = 0;
  base::Nanos least_time_ = 0;
  std::uint64_t wait_ = 0;  // calls until the next agreement
  std::uint32_t without_news_ = 0;
  bool matrix_due_ = false;        // counts have changed since all of them travelled
  std::uint64_t allowance_ = 0;    // bytes that may go into letting them travel
  std::uint64_t planned_for_ = 0;  // hash of this member's counts in the steps
  bool has_steps_ = false;
  bool planned_ = false;  // this call takes the steps
  base::Rounds stepped_;  // the rounds of the group with steps or paths added
  base::Rounds open_;     // where paths are made from counts: rounds for counts that are not known
  std::optional<execute::Execution> stepped_sites_;  // the group's site plan, with the steps
};

}  // namespace alm::carrier
