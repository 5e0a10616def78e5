// One rank's end of a set of peers: the engine (engine.h), which is the protocol without bytes, and
// the bytes of its blocks and datagrams. Sans-IO: datagrams, time and buffers come in as values,
// datagrams and deadlines go out. No sockets, clocks, threads or MPI here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/time.h"
#include "transport/config.h"
#include "transport/engine.h"
#include "wire/header.h"
#include "wire/seal.h"

namespace alm::transport {

using Key = wire::Key;

struct Identity {
  Key key{};  // shared by the set, from MPI's bootstrap
  PeerId self = 0;
  std::uint16_t local_set = 0;            // Header::set of datagrams to this rank
  std::vector<std::uint16_t> remote_set;  // [peer] Header::set of datagrams to it
};

// Where the block for or from each peer lies: `stride` bytes apart, or at displacement[peer]; and
// how long it is: `bytes`, or size[peer].
template <class Byte>
struct Blocks {
  Byte* base = nullptr;
  std::uint64_t stride = 0, bytes = 0;
  std::span<const std::uint64_t> displacement = {}, size = {};

  Byte* at(PeerId peer) const {
    return base + (displacement.empty() ? stride * peer : displacement[peer]);
  }
  std::uint64_t size_of(PeerId peer) const { return size.empty() ? bytes : size[peer]; }
  BlockSizes sizes() const { return {bytes, size}; }
};
using ConstBlocks = Blocks<const std::byte>;
using MutableBlocks = Blocks<std::byte>;

struct Exchange {
  const Rounds* rounds = nullptr;  // must outlive the exchange
  ConstBlocks send;
  MutableBlocks recv;  // self's own block is not copied
  // [peer] not 0: its block is not there yet, see make_ready(). Empty: all are. Read at the start.
  std::span<const std::uint8_t> withheld = {};
  bool reports_arrivals = false;  // see take_arrival()
  // The rate of the link is not known well enough to wait for the time of a step.
  bool hurries = false;
  bool distrusts_file = false;  // of the cluster; see Engine::distrust_file()
};

// One datagram to send. The Outgoing holds its head; `payload` points into the caller's send buffer
// or into the channel's copy of the tail or its parities, and is valid until sent or release().
struct Outgoing {
  PeerId peer = 0;
  std::uint8_t path = 0;
  std::uint8_t head_bytes = 0;
  std::array<std::byte, 80> head_storage;
  std::span<const std::byte> payload;

  std::span<const std::byte> head() const { return {head_storage.data(), head_bytes}; }
  std::size_t bytes() const { return head_bytes + payload.size(); }
};

class Channel {
 public:
  Channel(const Config& config, Identity identity);
  ~Channel();
  Channel(Channel&&) noexcept;
  Channel& operator=(Channel&&) noexcept;

  // Begins exchange number 0, 1, 2, ... Precondition: the one before is complete() and release()d.
  void start(base::Nanos now, const Exchange& exchange);

  // The block for this peer, withheld at the start, is in the send buffer now.
  void make_ready(PeerId peer);
  // See Engine::take_arrival.
  bool take_arrival(PeerId* peer);
  std::size_t arrivals() const;

  // Whether everything for this rank has come, everything it sends has been pulled once, and all
  // peers have acknowledged the exchange before. All Outgoing pulled must be handed to the network
  // before release().
  bool complete() const;

  // Ends the exchange: copies what is not yet acknowledged; the caller's buffers are free then. The
  // channel goes on to answer, acknowledge and retransmit when it is driven.
  void release(base::Nanos now);

  // Ends the exchange without success and drops the buffers. From then on the channel sends only
  // the notice that rank `lost` is lost, to all peers and again to those that still ask.
  void abandon(std::optional<std::uint32_t> lost = std::nullopt);

  // Has pull() give out a fill (wire/fill.h), at once, whatever the window is.
  void fill(std::uint32_t packets, std::uint32_t bytes);
  bool fills() const;  // some have not been given out yet
  void end_fill();     // those are not any more

  // One datagram as received. False: rejected (counted), the channel is unchanged.
  bool on_datagram(base::Nanos now, std::span<const std::byte> datagram);

  // Fills `out` with datagrams to send now, up to its size; returns how many. They count as sent:
  // the caller keeps those that the kernel did not take and sends them first next time.
  std::size_t pull(base::Nanos now, std::span<Outgoing> out);

  // The time at which pull() must be called again even if nothing arrives; kNever when idle.
  base::Nanos deadline() const;
  base::Nanos unmoved_until(base::Nanos now) const;
  base::Nanos frame_time() const;
  std::uint64_t at_once_bytes() const;  // see Engine

  // Nothing is unacknowledged in either direction: no peer can still need this rank.
  bool settled() const;

  // A peer that was silent for peer_warning or peer_timeout while this rank waited for it.
  std::optional<PeerFailure> check_peers(base::Nanos now);
  // The notice of a peer that has given up, whether an exchange runs or not.
  const std::optional<PeerFailure>& told() const;
  // Nobody read what arrived for so long: peers do not count as silent in that time.
  void was_deaf(base::Nanos time);

  // Set when two ranks do not agree on the size of a block; nothing more can be exchanged then.
  const std::optional<Mismatch>& mismatch() const;

  // See Engine: a peer in an exchange that this rank has not entered, and a peer that has not
  // entered the running one. Ranks use their channels in the same order; if one peer is both, in
  // two channels, the orders differ.
  std::optional<Engine::Ahead> ahead(PeerId peer) const;
  base::Nanos not_entered_at(PeerId peer) const;
  bool absent(PeerId peer) const;
  void be_elsewhere(const std::optional<Engine::Elsewhere>& elsewhere);
  std::optional<Engine::Elsewhere> elsewhere(PeerId peer) const;
  std::optional<std::uint64_t> doing(PeerId peer) const;
  // See Attendance: what this rank does outside of calls, for peers that ask.
  void does(std::uint64_t what);
  bool asked() const;
  std::uint64_t sends_to(PeerId peer) const;  // bytes in the running exchange

  const Counters& counters() const;
  const Config& config() const;
  const Identity& identity() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace alm::transport
