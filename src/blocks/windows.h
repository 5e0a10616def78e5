// The state of one block in transit, at the sender and at the receiver. Packet numbers count from 0
// inside the block.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "wire/control.h"
#include "wire/marks.h"

namespace alm::blocks {

// A sender is never further ahead of the first unacknowledged packet: 4096 packets are 50 ms at 1
// Gbit/s. Senders keep to Config::span_packets, which is at most this.
constexpr std::uint32_t kSpanMax = 4096;

using wire::Marks;

struct SendWindow {
  std::uint32_t total = 0;
  std::uint32_t next = 0;           // first packet never sent
  std::uint32_t acked = 0;          // all packets below have come
  std::uint32_t lost_limit = 0;     // evidence: packets below are lost unless acknowledged
  std::uint32_t resend_cursor = 0;  // lost packets below have been resent in this epoch
  std::uint32_t epoch_next = 0;     // `next` at the latest resend
  std::uint32_t told = 0;           // bitmaps have covered all packets below
  Marks sacked;                     // bit i: packet acked + i

  bool exhausted() const { return next == total; }
  bool has_come(std::uint32_t packet) const {
    return packet < acked || (packet - acked < kSpanMax && sacked.has(packet - acked));
  }
  bool may_advance(std::uint32_t span) const { return next < total && next - acked < span; }
  std::uint32_t outstanding() const { return next - acked - sacked.count(); }
  std::uint32_t resends_outstanding() const {
    if (resend_cursor <= acked) return 0;
    const std::uint32_t span = resend_cursor - acked;
    return span - sacked.count(span);
  }
  // First lost packet not yet resent in this epoch, or `next` if there is none.
  std::uint32_t next_resend() const {
    const std::uint32_t limit = std::min(lost_limit, next);
    for (std::uint32_t packet = std::max(resend_cursor, acked); packet < limit; ++packet) {
      if (!sacked.has(packet - acked)) return packet;
    }
    return next;
  }
  // A probe: what had been sent when it left, and whether something has been resent since.
  struct Probed {
    std::uint32_t next = 0;
    bool resent_since = false;
  };
  // What an acknowledgement says beyond its cumulative count. `answers`: the probe that it answers;
  // null: none.
  void merge(std::uint32_t cumulative, const wire::AckBody& body, const Probed* answers) {
    if (acked - cumulative < kSpanMax) {  // otherwise older than anything of interest
      for (std::uint32_t word = 0; word < wire::kBitmapWords; ++word) {
        for (std::uint64_t bits = body.bitmap[word]; bits != 0; bits &= bits - 1) {
          const std::uint32_t packet = cumulative + body.begin + word * 64 +
                                       static_cast<std::uint32_t>(std::countr_zero(bits));
          if (packet >= acked && packet < next) sacked.set(packet - acked);
        }
      }
      advance_acked(acked);
    }
    // Packets beyond the bitmaps received so far may have come. Bitmaps come in order.
    const std::uint32_t begin = cumulative + body.begin;
    const std::uint32_t end = begin + wire::kBitmapBits;
    const bool follows = begin <= std::max(told, cumulative);
    if (follows) told = std::max(told, std::min(end, body.seen));
    const std::uint32_t limit = follows && body.seen <= end ? next : told;
    std::uint32_t evidence = std::min(body.seen, next);
    bool new_epoch = evidence > epoch_next;
    if (answers != nullptr) {
      evidence = std::max(evidence, std::min(answers->next, next));
      new_epoch = new_epoch || !answers->resent_since;
    }
    if (new_epoch) resend_cursor = acked;
    lost_limit = std::max(lost_limit, std::min(evidence, limit));
  }
  void advance_acked(std::uint32_t to) {
    sacked.drop(std::min(to - acked, kSpanMax));
    acked = to;
    while (acked < next && sacked.has(0)) {
      sacked.drop(1);
      ++acked;
    }
  }
};

struct ReceiveWindow {
  std::uint32_t total = 0;
  std::uint32_t cumulative = 0;  // all packets below have come
  std::uint32_t seen = 0;        // highest packet number seen + 1
  Marks beyond;                  // bit i: packet cumulative + i

  bool complete() const { return cumulative == total; }
  bool has(std::uint32_t packet) const {
    if (packet < cumulative) return true;
    return packet - cumulative < kSpanMax && beyond.has(packet - cumulative);
  }
  bool in_span(std::uint32_t packet) const { return packet - cumulative < kSpanMax; }
  bool hole() const { return seen > cumulative; }
  void add(std::uint32_t packet) {
    if (packet == cumulative && !beyond.any()) {
      ++cumulative;
      return;
    }
    beyond.set(packet - cumulative);
    while (const std::uint32_t run = beyond.leading()) {
      beyond.drop(run);
      cumulative += run;
    }
  }
};

}  // namespace alm::blocks
