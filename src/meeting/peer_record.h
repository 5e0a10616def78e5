// The records that the ranks of one communicator exchange at its first use, and what follows from
// them. Pure, like job/agreement.h.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "job/agreement.h"
#include "plan/combining.h"
#include "plan/placement.h"
#include "topology/cluster.h"
#include "transport/channel.h"
#include "transport/io/endpoint.h"

namespace alm::meeting {

using io::kSocketsMax;
constexpr std::size_t kCauseBytes = 160;
constexpr std::uint32_t kLeadersMax = 8;  // of a host

// Trivially copyable: each of these parts travels by an allgather of its own. The first call of
// a job waits for them, and TCP's queues hold little, so only parts that are needed are sent.
struct PeerName {
  std::array<char, job::kHostNameBytes> host{};
  std::uint32_t machine = 0;  // this_machine()
  std::uint32_t leaf = 0;     // job::leaf_number()
  std::uint8_t refuses = 0;   // 1: this rank cannot take part; PeerCause says why
};

// Gathered only where an algorithm asks for it.
struct PeerSite {
  std::array<char, job::kHostNameBytes> site{};  // the option `site`
};

struct PeerSockets {
  transport::Key key{};  // this rank's random contribution
  std::uint32_t datagram_bytes = 0;
  std::uint16_t set = 0;
  std::uint16_t shared_set = 0;  // from host leaders, where hosts have several leaders
  std::array<std::uint16_t, kLeadersMax> lanes{};  // from every rank, where all are leaders
  std::array<std::uint16_t, plan::kCombiningPhasesMax + plan::kSitePhasesMax>
      phase_sets{};      // of all plans in phases, phase by phase
  std::uint8_t udp = 0;  // 1: the sockets are open, and the fields about them are valid
  std::uint8_t paths = 0;
  std::uint8_t family = 0;
  std::uint8_t explains = 0;  // 1: there is a PeerCause
  std::array<std::uint8_t, 16> address{};
  std::array<std::uint16_t, kSocketsMax> ports{};
  // From the host leader, where a host has several ranks: the memory to share (node_memory.h).
  std::int32_t process = 0, memory_file = -1;
};

// Gathered only where hosts have several links: the addresses of the second link and later ones.
struct PeerLinks {
  std::array<std::array<std::uint8_t, 16>, topology::kHostLinksMax - 1> further{};
  std::uint8_t links = 1;
};

// Gathered only if a rank has one: why it cannot take part or, if udp is 1, a warning about
// sockets.
struct PeerCause {
  std::array<char, kCauseBytes> cause{};
};

struct PeerRecord : PeerName, PeerSite, PeerSockets, PeerLinks, PeerCause {};

plan::Placement place(std::span<const PeerRecord> records, bool apart = false);
// [host] the record of its leader number `leader`; 0 is the host leader.
std::vector<PeerRecord> leaders_of(std::span<const PeerRecord> records,
                                   const plan::Placement& placement, std::uint32_t leader = 0);

// [host] The leaf switch above each host, by what their leaders say of it. Empty: one does not
// know, or all hang on the same.
plan::LeafOf leaves_told(std::span<const PeerRecord> leaders);

// Write fields of a record, and read them.
void set_cause(PeerRecord& record, std::string_view cause);
void set_site(PeerRecord& record, std::string_view site);
// `sockets`: so many of the endpoint's.
void set_addresses(PeerRecord& record, const io::Endpoint& endpoint, std::uint32_t sockets,
                   std::uint32_t links = 1);
base::Result<std::vector<io::Address>> addresses_of(const PeerRecord& record);
// Of the first socket; nothing: there is none.
std::optional<io::Address> first_address(const PeerSockets& sockets);

// The hosts of a communicator. There must be several, and the cluster file, if there is one, must
// name them all.
struct Membership {
  std::vector<base::HostId> hosts;  // [host], positions in the cluster file; empty without one
  std::string refusal;              // not empty: the communicator passes through
};
Membership judge(std::span<const PeerRecord> records, const plan::Placement& placement,
                 const topology::Cluster* cluster);

// The following take the records of one leader of each host.

// "h3: cannot bind ...", for the first host without sockets; empty if all have them.
std::string udp_obstacle(std::span<const PeerRecord> records);

// The warning of the first host that has one, and how many others have one; empty: none.
std::string socket_warning(std::span<const PeerRecord> records);

transport::Key common_key(std::span<const PeerRecord> records);
std::uint32_t common_datagram_bytes(std::span<const PeerRecord> records);

}  // namespace alm::meeting
