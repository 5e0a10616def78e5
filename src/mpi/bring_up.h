// How a communicator comes to be accelerated, at its first MPI_Alltoall. Every step ends in a
// collective on the user's communicator of which all ranks learn how it has ended
// (safe_collectives.h), so that all of them take the same way:
//
//   1. Allgather of host names: several hosts, all named in the cluster file? Else pass through.
//      Where the algorithm is for several sites: one of the names of sites, and where nothing says
//      what they are, one of addresses and one of round trips.
//   2. Allgather of sockets and set numbers. A host without sockets: MPI messages for all.
//   3. Where ranks share hosts, they attach to the memory of their leaders, and the minimum of the
//      outcomes. One that cannot: MPI messages for all.
//   4. With several paths: leaders ask the routers about them, and two Allgathers of what these
//   say.
//   5. Hello over UDP between the leaders of the hosts, and the minimum of the outcomes. A second
//      try has packets that fit any path IPv6 allows; then MPI messages.
//
// Where a host is to have several leaders, all of them go through 2, 4 and 5 at once, each with
// those of its own number on the other hosts. One without sockets: the host leaders are the only
// ones.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mpi/courier.h"
#include "mpi/job.h"
#include "mpi/members.h"
#include "mpi/peer_record.h"
#include "mpi/repertoire.h"
#include "mpi/reserved_sets.h"
#include "mpi/safe_collectives.h"
#include "mpi/sites.h"

namespace alm::mpi {

class BringUp {
 public:
  // What it fills. `members` holds ranks and self.
  BringUp(Job& job, CommHandle comm, Members& members, Repertoire& ways, Courier& courier)
      : job_(job), collectives_(job.ops, comm), members_(members), ways_(ways), courier_(courier) {}

  struct Result {
    bool accelerates = false;
    std::string obstacle;  // what is in the way of UDP, equal on all ranks; empty: nothing
  };
  // Collective. Never fails: where something is in the way, all ranks agree on MPI messages or on
  // passing through, and rank 0 says why. `refusal`: why this rank cannot take part, if it cannot.
  Result run(std::string_view refusal);

  // Collective. Messages where UDP is in use, for ways that need them. False on all ranks: some
  // cannot.
  bool add_messages();

 private:
  // Each returns the reason why it cannot be, equal on all ranks; empty: done.
  std::string join(std::string_view refusal);
  std::string open_udp();
  std::string open_messages();
  std::string share_memory(std::unique_ptr<node::NodeMemory>& memory);
  std::string find_ways();
  std::string say_hello(ReservedSets& sets, std::uint32_t datagram_bytes);
  std::string say_shorter_hello(ReservedSets& sets, std::uint32_t tried_bytes,
                                const std::string& reason);

  // On leaders. What is wrong is in `mine`.
  void check_forecast(std::uint32_t datagram_bytes);
  void open_sockets(PeerRecord& mine, ReservedSets& sets);
  std::unique_ptr<node::NodeMemory> lend_memory(PeerRecord& mine) const;
  void reserve(PeerRecord& mine, ReservedSets& sets);
  void settle_leaders();
  std::uint32_t common_datagram_bytes() const;
  static void add_peer(io::PeerSet& peers, const PeerRecord& record, std::uint16_t set);
  std::vector<io::PeerSet> lanes(const io::PeerSet& own) const;
  void open_carrier(ReservedSets& sets, std::uint32_t datagram_bytes);

  template <class Part>
  base::Status gather_part(const PeerRecord& mine);
  base::Status gather_names(const PeerRecord& mine);
  base::Status find_sites();
  void take_known_sites();
  base::Result<HostSites> measure_sites();
  void take_sites(HostSites found);
  base::Status gather_sockets(const PeerRecord& mine);
  void warn(const std::string& reason, std::string_view consequence) const;

  Job& job_;
  SafeCollectives collectives_;
  Members& members_;
  Repertoire& ways_;
  Courier& courier_;
  std::vector<PeerRecord> records_;  // [rank]
  std::vector<PeerRecord> leaders_;  // [host], the host leaders
  io::Driver* driver_ = nullptr;     // on leaders
};

template <class Part>
base::Status BringUp::gather_part(const PeerRecord& mine) {
  std::vector<Part> parts(members_.ranks);
  auto gathered = collectives_.gather(static_cast<const Part&>(mine), parts);
  if (!gathered) return gathered;
  for (std::uint32_t rank = 0; rank < members_.ranks; ++rank) {
    static_cast<Part&>(records_[rank]) = parts[rank];
  }
  return {};
}

}  // namespace alm::mpi
