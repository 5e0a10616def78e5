// What this rank sends to and expects from each peer, in the exchange that it has entered last and,
// as long as peers may ask for that, in the one before (the tail); and the packets that blocks are
// cut into: all of `packet_bytes` but the last, or all alike where that one would be short.
//
// Queues count packets. Behind full ones that wait, senders that have come to short ends put ten
// times as many into a queue, and overflow what full packets never fill (docs/adr/0071).
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/rounds.h"
#include "wire/control.h"
#include "wire/exchange_numbers.h"
#include "wire/header.h"

namespace alm::blocks {

using base::PeerId;

// Bytes per peer: the same for all, or one figure each.
struct BlockSizes {
  std::uint64_t uniform = 0;
  std::span<const std::uint64_t> each;
  std::uint64_t of(PeerId peer) const { return each.empty() ? uniform : each[peer]; }
};

class Sizes {
 public:
  explicit Sizes(std::uint32_t packet_bytes) : packet_bytes_(packet_bytes) {}

  void begin(const BlockSizes& send, const BlockSizes& recv) {
    send_ = send;
    recv_ = recv;
  }
  // The exchange is over and becomes the tail. The caller's arrays of sizes are no longer needed.
  void end() {
    keep(send_, &tail_send_, &tail_send_bytes_);
    keep(recv_, &tail_recv_, &tail_recv_bytes_);
    forget();
  }
  void forget() { send_ = recv_ = BlockSizes{}; }

  std::uint32_t packet_bytes() const { return packet_bytes_; }
  std::uint32_t packets_of(std::uint64_t bytes) const {
    const std::uint64_t packets = (bytes + packet_bytes_ - 1) / packet_bytes_;
    assert(packets < wire::kAcknowledgedAll);
    return static_cast<std::uint32_t>(packets);
  }
  // The length of all packets of a block but the last, which may be shorter.
  std::uint32_t packet_bytes_of(std::uint64_t bytes) const {
    const std::uint64_t full = bytes / packet_bytes_, end = bytes % packet_bytes_;
    const bool is_short =
        full > 0 && full < kAlikeMax && end > 0 && kShortEnd * end < packet_bytes_;
    return is_short ? static_cast<std::uint32_t>((bytes + full) / (full + 1)) : packet_bytes_;
  }
  // Where a packet of a block begins. The end of the last one, for the packet after it.
  std::uint64_t offset_of(std::uint64_t bytes, std::uint32_t packet) const {
    return std::min(bytes, std::uint64_t{packet} * packet_bytes_of(bytes));
  }
  std::uint32_t length_of(std::uint64_t bytes, std::uint32_t packet) const {
    const std::uint32_t each = packet_bytes_of(bytes);
    const std::uint64_t offset = std::uint64_t{packet} * each;
    assert(offset < bytes);
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(each, bytes - offset));
  }

  std::uint64_t sends(PeerId peer) const { return send_.of(peer); }
  std::uint64_t expects(PeerId peer) const { return recv_.of(peer); }
  std::uint64_t tail_sends(PeerId peer) const { return tail_send_.of(peer); }
  std::uint64_t tail_expects(PeerId peer) const { return tail_recv_.of(peer); }
  // As a probe says it; nothing: not known of that exchange.
  std::optional<wire::ProbeBody> with(PeerId peer, std::uint64_t exchange,
                                      const wire::ExchangeNumbers& numbers) const {
    if (numbers.runs(exchange)) return wire::ProbeBody{0, sends(peer), expects(peer)};
    if (!numbers.is_tail(exchange)) return std::nullopt;
    return wire::ProbeBody{0, tail_sends(peer), tail_expects(peer)};
  }

 private:
  static constexpr std::uint64_t kShortEnd = 4;   // of a packet, 1 / so much: longer ones lose none
  static constexpr std::uint64_t kAlikeMax = 64;  // a lost end costs longer blocks little

  static void keep(const BlockSizes& sizes, BlockSizes* tail, std::vector<std::uint64_t>* bytes) {
    *tail = sizes;
    if (sizes.each.empty()) return;
    bytes->assign(sizes.each.begin(), sizes.each.end());
    tail->each = *bytes;
  }

  std::uint32_t packet_bytes_;
  BlockSizes send_, recv_;
  BlockSizes tail_send_, tail_recv_;
  std::vector<std::uint64_t> tail_send_bytes_, tail_recv_bytes_;  // where they are not uniform
};

}  // namespace alm::blocks
