// One rank's end of a set of peers (a communicator): the engine (engine.h, the protocol without
// bytes) and the bytes around it. Sans-IO: datagrams, time and buffers come in as values, datagrams
// and deadlines go out. No sockets, clocks, threads or MPI here.
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
#include "wire/header.h"
#include "wire/seal.h"

namespace alm::transport {

using PeerId = std::uint32_t;  // rank in the set

enum class Reliability { kSelectiveRepeat, kGoBackN };
enum class SendRule { kEither, kReceiveClock, kUnacked };  // design section 5; the pure ones for study

struct Config {
  std::uint32_t datagram_bytes = 1472;   // UDP payload of a full packet, header included
  std::uint32_t window_packets = 16;     // W_g, over all peers
  std::uint32_t grain_packets = 1;       // train length g
  base::Nanos packet_time = 12'000;      // one full frame on the host link
  Reliability reliability = Reliability::kSelectiveRepeat;
  SendRule send_rule = SendRule::kEither;
  std::uint32_t retransmit_budget_packets = 4;  // retransmissions outstanding at once
  std::uint64_t early_bytes_max = 8u << 20;     // held for an exchange not yet entered
  base::Nanos timer_jitter = 4 * base::kMillisecond;  // added to cycle-based timers
  base::Nanos peer_warning = 10 * base::kSecond;
  base::Nanos peer_timeout = 300 * base::kSecond;
};

using Key = wire::Key;

struct Identity {
  Key key{};                                  // shared by the set, from MPI's bootstrap
  PeerId self = 0;
  std::uint16_t local_set = 0;                // what peers put into Header::set when sending to us
  std::vector<std::uint16_t> remote_set;      // [peer] what we put when sending to them
};

// Rounds of partners, as in plan::Plan (transport does not know plans). Must outlive the exchange.
struct Rounds {
  std::span<const PeerId> send, recv;
  std::span<const std::uint32_t> send_begin, recv_begin;  // rounds + 1 entries
  bool interleaved = true;
};

// Where the block for or from each peer lies: either `stride` bytes apart and `bytes` long each, or
// displacement[peer], size[peer] (bytes).
struct ConstBlocks {
  const std::byte* base = nullptr;
  std::uint64_t stride = 0, bytes = 0;
  std::span<const std::uint64_t> displacement, size;
};
struct MutableBlocks {
  std::byte* base = nullptr;
  std::uint64_t stride = 0, bytes = 0;
  std::span<const std::uint64_t> displacement, size;
};

struct Exchange {
  Rounds rounds;
  ConstBlocks send;
  MutableBlocks recv;  // self's own block is not copied
};

// One datagram to send. `head` lies in storage the Outgoing itself carries; `payload` points into the
// caller's send buffer or into the channel's copy of the tail, valid until sent or release().
struct Outgoing {
  PeerId peer = 0;
  std::uint8_t path = 0;
  std::uint8_t head_bytes = 0;
  std::array<std::byte, 80> head_storage;
  std::span<const std::byte> payload;

  std::span<const std::byte> head() const { return {head_storage.data(), head_bytes}; }
  std::size_t bytes() const { return head_bytes + payload.size(); }
};

struct Counters {
  std::uint64_t data_sent = 0;           // first transmissions
  std::uint64_t data_retransmitted = 0;
  std::uint64_t acks_sent = 0, probes_sent = 0;
  std::uint64_t data_received = 0;       // new packets
  std::uint64_t duplicates_received = 0;
  std::uint64_t early_held = 0, early_dropped = 0;
  std::uint64_t rejected_checksum = 0, rejected_malformed = 0, rejected_stale = 0;
};

struct PeerFailure {
  PeerId peer = 0;
  base::Nanos silent = 0;
  bool fatal = false;  // false: the warning at peer_warning, reported once per silence
};

class Channel {
 public:
  Channel(const Config& config, Identity identity);
  ~Channel();
  Channel(Channel&&) noexcept;
  Channel& operator=(Channel&&) noexcept;

  // Begins exchange number 0, 1, 2, ... Precondition: the one before is complete() and release()d.
  // If packets of the exchange two before are still unacknowledged, nothing is sent until they are.
  void start(base::Nanos now, const Exchange& exchange);

  // Everything for us has come, and everything we owe has been pulled at least once. All Outgoing
  // pulled must have been handed to the network before release().
  bool complete() const;

  // Ends the exchange: copies what is not yet acknowledged, then lets go of the caller's buffers.
  // From here on the channel still answers, acknowledges and retransmits when it is driven.
  void release(base::Nanos now);

  // Ends it without success (failed peer, abort): drops the buffers, leaves nothing to send.
  void abandon();

  // One datagram as received. False: rejected (counted), the channel is unchanged.
  bool on_datagram(base::Nanos now, std::span<const std::byte> datagram);

  // Fills `out` with datagrams to send now, up to its size; returns how many. Each is then counted
  // as sent: the caller keeps those the kernel would not take and sends them first next time.
  std::size_t pull(base::Nanos now, std::span<Outgoing> out);

  // The time at which pull() must be called again even if nothing arrives; kNever when idle.
  base::Nanos deadline(base::Nanos now) const;

  // Nothing unacknowledged in either direction: no late peer can still need us.
  bool settled() const;

  // A peer silent for peer_warning or peer_timeout while we wait for it.
  std::optional<PeerFailure> check_peers(base::Nanos now);

  const Counters& counters() const;
  const Config& config() const;
  const Identity& identity() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace alm::transport
