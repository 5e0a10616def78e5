// Brings a communicator up at its first MPI_Alltoall. Every part ends in a collective on the user's
// communicator whose outcome all ranks learn (job/safe_collectives.h), so that all of them decide
// alike:
//
//   1. Allgather of host names: several hosts, all named in the cluster file? Else pass through.
//      If the algorithm is for several sites: an Allgather of the names of sites; without names,
//      one of addresses and one of round trips.
//   2. Allgather of sockets and set numbers. A host without sockets: MPI messages for all.
//   3. Where ranks share hosts, they attach to the memory of their leaders; the minimum of the
//      outcomes. One that cannot: MPI messages for all.
//   4. Unless there is one path: leaders ask which router is next, and an Allgather of the answers
//      (bring_up_routes.cc). If there are several, sockets are opened for the ways between them and
//      gathered, where none were asked for; then leaders ask the routers about the ways, and an
//      Allgather of the answers.
//   5. Hello over UDP between the leaders of the hosts; the minimum of the outcomes. If it fails,
//      a second hello with packets that fit any path IPv6 allows; if that fails, MPI messages.
//
// Where hosts have several leaders, all of them go through 2, 4 and 5 at once, each with the
// leaders of its own number on the other hosts. One without sockets: the host leaders alone lead.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "courier/courier.h"
#include "job/job.h"
#include "job/safe_collectives.h"
#include "job/sites.h"
#include "meeting/members.h"
#include "meeting/peer_record.h"
#include "meeting/reserved_sets.h"
#include "meeting/route_search.h"
#include "ways/repertoire.h"

namespace alm::communicator {

class BringUp {
 public:
  // Fills in `members`, which holds ranks and self already, `ways` and `courier`.
  BringUp(job::Job& job, job::CommHandle comm, meeting::Members& members, ways::Repertoire& ways,
          courier::Courier& courier)
      : job_(job),
        collectives_(job.bootstrap, comm),
        members_(members),
        ways_(ways),
        courier_(courier) {}

  struct Result {
    bool accelerates = false;
    std::string obstacle;  // what prevents UDP, equal on all ranks; empty: nothing
  };
  // Collective. Never fails: if UDP cannot be used, all ranks agree on MPI messages or on passing
  // through, and rank 0 logs why. `refusal`: why this rank cannot take part; empty: it can.
  Result run(std::string_view refusal);

  // Collective. Opens MPI messages beside UDP, for the ways that need them. False on all ranks: it
  // failed on some rank.
  bool add_messages();

 private:
  // Errors are equal on all ranks.
  base::Status join(std::string_view refusal);
  base::Status open_udp();
  base::Status open_messages();
  base::Status share_memory(std::unique_ptr<node::NodeMemory>& memory);
  base::Status settle_paths(meeting::PeerRecord& mine);
  base::Status find_routes(meeting::PeerRecord& mine);
  base::Status open_sockets_for_routes(meeting::PeerRecord& mine);
  std::vector<io::Address> ask_routers(std::span<const io::HopQuestion> questions,
                                       meeting::RouteSearch* search = nullptr);
  // What has been asked about routes on a leader: [question].
  struct Asked {
    std::vector<std::vector<io::Address>> addresses;  // [host][port]
    std::vector<io::HopQuestion> questions;
    std::vector<io::Address> routers, tops;
  };
  meeting::TopRecord find_tops(const std::vector<meeting::RouterRecord>& all, Asked& asked);
  // Of the leaders of this one's number.
  template <class Record>
  std::vector<Record> of_hosts(const std::vector<Record>& by_rank) const {
    std::vector<Record> records;
    for (const auto& ranks : members_.placement.ranks) {
      records.push_back(by_rank[ranks[members_.leader()]]);
    }
    return records;
  }
  std::vector<std::vector<io::Address>> addresses_of_peers() const;
  base::Status say_hello(meeting::ReservedSets& sets, std::uint32_t datagram_bytes);
  base::Status say_shorter_hello(meeting::ReservedSets& sets, std::uint32_t tried_bytes,
                                 const base::Error& reason);

  // On leaders. Problems are noted in `mine`.
  void check_forecast(std::uint32_t datagram_bytes);
  void open_sockets(meeting::PeerRecord& mine, meeting::ReservedSets& sets);
  std::unique_ptr<node::NodeMemory> lend_memory(meeting::PeerRecord& mine) const;
  void reserve(meeting::PeerRecord& mine, meeting::ReservedSets& sets);
  void settle_leaders();
  std::uint32_t common_datagram_bytes() const;
  static void add_peer(io::PeerSet& peers, const meeting::PeerRecord& record, std::uint16_t set);
  std::vector<io::PeerSet> lanes(const io::PeerSet& own) const;
  void open_udp_group(meeting::ReservedSets& sets, std::uint32_t datagram_bytes);

  template <class Part>
  base::Status gather_part(const meeting::PeerRecord& mine);
  base::Status gather_names(const meeting::PeerRecord& mine);
  base::Status find_sites();
  void take_known_sites();
  base::Result<job::HostSites> measure_sites();
  void take_sites(job::HostSites found);
  void ask_network(std::uint32_t datagram_bytes) const;
  void set_times(transport::Config& config) const;
  base::Status gather_sockets(const meeting::PeerRecord& mine);
  void warn(const std::string& reason, std::string_view consequence) const;

  job::Job& job_;
  job::SafeCollectives collectives_;
  meeting::Members& members_;
  ways::Repertoire& ways_;
  courier::Courier& courier_;
  std::vector<meeting::PeerRecord> records_;  // [rank]
  std::vector<meeting::PeerRecord> leaders_;  // [host], the host leaders
  io::Driver* driver_ = nullptr;              // on leaders
  base::Nanos gathering_ = 0;  // how long the sockets of all have taken: one way to the farthest
};

template <class Part>
base::Status BringUp::gather_part(const meeting::PeerRecord& mine) {
  std::vector<Part> parts(members_.ranks);
  auto gathered = collectives_.gather(static_cast<const Part&>(mine), parts);
  if (!gathered) return gathered;
  for (std::uint32_t rank = 0; rank < members_.ranks; ++rank) {
    static_cast<Part&>(records_[rank]) = parts[rank];
  }
  return {};
}

}  // namespace alm::communicator
