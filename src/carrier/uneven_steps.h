// What the ranks of a communicator know about each other's counts in MPI_Alltoallv and
// MPI_Alltoallw, and the steps made from them.
//
// Counts are local facts. In a small exchange each rank tells the others how much it has to carry
// and a hash of its counts: the exchange that follows is worth a plan or not, and either all counts
// are what they were, or they travel in a second small exchange and new steps are made. How often
// that is done follows from what was agreed on before, so that all ranks do it at the same call:
// every time where the exchange is large enough to carry it, ever more rarely where it is not. All
// counts together grow with the square of the ranks: where they change again and again, they travel
// when the exchanges since have paid for it. In between, a rank whose counts have changed sends in
// the usual rounds; that costs time, nothing else, because what is sent in which order is each
// rank's own affair.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "carrier/udp_carrier.h"
#include "execute/execution.h"
#include "topology/cluster.h"

namespace alm::carrier {

class UnevenSteps {
 public:
  // What steps are made for: the network, and where the members are in it.
  struct Network {
    const topology::Cluster* cluster = nullptr;  // null: no steps
    double packet_time_us = 0;
    std::vector<base::HostId> hosts;
    // Of the peers that the rounds send to, by [from * members + to] bytes; null: whoever sends
    // chooses.
    std::function<std::vector<std::uint8_t>(std::span<const std::uint64_t> bytes,
                                            std::span<const base::PeerId> send)>
        paths = nullptr;
  };

  // The carrier and the cluster must live as long as this.
  UnevenSteps(UdpCarrier& carrier, Network network);

  // Collective over its members, before every exchange: bytes to and from each member.
  // `wants_steps`, the same on all members, says for a load() whether this exchange will take them.
  using WantsSteps = std::function<bool(std::uint64_t load)>;
  base::Status prepare(std::span<const std::uint64_t> send, std::span<const std::uint64_t> recv,
                       const WantsSteps& wants_steps = {});
  // The exchange that was prepared: in the steps made for it, else in the usual rounds. Between
  // sites near and far blocks go apart.
  base::Status run(transport::Exchange exchange);
  // Those that run() takes where hosts are at one site.
  const base::Rounds& rounds() const;

  // What the fullest member has to carry, as last agreed on.
  std::uint64_t load() const { return load_; }
  bool planned() const { return planned_; }
  // No exchange can take less with the counts last told, by the links in the cluster file; 0: not
  // known.
  base::Nanos least_time() const { return least_time_; }

  // What a member has to carry: the more of what it sends and what it receives, its own left out.
  static std::uint64_t load_of(std::span<const std::uint64_t> send,
                               std::span<const std::uint64_t> recv, std::uint32_t self);
  // After an agreement at which the fullest member carried `load` bytes, for the n-th time in a row
  // without news: so many calls go by until the next one. `latency_bytes`: what a host's link
  // carries in the latency of the network, which the small exchange waits for.
  static std::uint64_t calls_between(std::uint64_t load, std::uint32_t without_news,
                                     std::uint64_t latency_bytes = 0);

 private:
  struct Told {
    std::uint64_t load = 0;
    std::uint64_t hash = 0;
  };

  base::Status agree(const Told& mine, std::span<const std::uint64_t> send,
                     const WantsSteps& wants_steps);
  std::uint64_t matrix_cost() const;
  void make_steps(std::span<const std::uint64_t> matrix);

  UdpCarrier& carrier_;
  Network network_;
  std::uint64_t latency_bytes_ = 0;

  std::vector<Told> known_;  // [member], of the latest agreement
  std::uint64_t load_ = 0;
  base::Nanos least_time_ = 0;
  std::uint64_t wait_ = 0;  // calls until the next agreement
  std::uint32_t without_news_ = 0;
  bool matrix_due_ = false;        // counts have changed since all of them travelled
  std::uint64_t allowance_ = 0;    // bytes that may go into letting them travel
  std::uint64_t planned_for_ = 0;  // hash of this member's counts in the steps
  bool has_steps_ = false;
  bool planned_ = false;  // this call takes the steps
  base::Rounds stepped_;  // the rounds of the carrier, and the steps, or paths, or both
  std::optional<execute::Execution> stepped_sites_;  // the carrier's site plan, with the steps
};

}  // namespace alm::carrier
