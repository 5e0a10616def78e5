// What is known of one block on its way: the sender's and the receiver's view. Packet numbers count
// from 0 inside the block.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>

#include "wire/control.h"

namespace alm::transport {

inline bool test_bit(const wire::Bitmap& map, std::uint32_t bit) {
  return ((map[bit / 64] >> (bit % 64)) & 1) != 0;
}
inline void set_bit(wire::Bitmap& map, std::uint32_t bit) {
  map[bit / 64] |= std::uint64_t{1} << (bit % 64);
}
inline bool is_empty(const wire::Bitmap& map) {
  std::uint64_t any = 0;
  for (const std::uint64_t word : map) any |= word;
  return any == 0;
}
// Set bits among the first `bits`.
inline std::uint32_t count_bits(const wire::Bitmap& map, std::uint32_t bits) {
  std::uint32_t count = 0;
  for (std::uint32_t word = 0; word < wire::kBitmapWords && bits > 0; ++word) {
    const std::uint32_t here = std::min<std::uint32_t>(bits, 64);
    const std::uint64_t mask = here == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << here) - 1;
    count += static_cast<std::uint32_t>(std::popcount(map[word] & mask));
    bits -= here;
  }
  return count;
}
// Drops the lowest `by` bits.
inline void shift_down(wire::Bitmap& map, std::uint32_t by) {
  const std::uint32_t words = by / 64;
  const std::uint32_t bits = by % 64;
  for (std::uint32_t i = 0; i < wire::kBitmapWords; ++i) {
    const std::uint32_t from = i + words;
    std::uint64_t value = from < wire::kBitmapWords ? map[from] >> bits : 0;
    if (bits != 0 && from + 1 < wire::kBitmapWords) value |= map[from + 1] << (64 - bits);
    map[i] = value;
  }
}

// Which packets past a gap have come. Most blocks never have a gap: the bitmap is made for the
// first one, and a window without takes less of the processor's cache.
class Marks {
 public:
  bool any() const { return map_ != nullptr && !is_empty(*map_); }
  bool has(std::uint32_t bit) const { return map_ != nullptr && test_bit(*map_, bit); }
  std::uint32_t count(std::uint32_t bits = wire::kBitmapBits) const {
    return any() ? count_bits(*map_, bits) : 0;
  }
  // From the lowest on without a gap, in the first word.
  std::uint32_t leading() const {
    return map_ == nullptr ? 0 : static_cast<std::uint32_t>(std::countr_one((*map_)[0]));
  }
  wire::Bitmap map() const { return map_ == nullptr ? wire::Bitmap{} : *map_; }
  void set(std::uint32_t bit) {
    if (map_ == nullptr) map_ = std::make_unique<wire::Bitmap>();
    set_bit(*map_, bit);
  }
  void drop(std::uint32_t by) {
    if (any()) shift_down(*map_, by);
  }

 private:
  std::unique_ptr<wire::Bitmap> map_;
};

// Never further ahead of the first unacknowledged packet than the bitmap of an ack reaches.
constexpr std::uint32_t kSpanMax = wire::kBitmapBits;

struct SendWindow {
  std::uint32_t total = 0;
  std::uint32_t next = 0;           // first packet never sent
  std::uint32_t acked = 0;          // all below have come
  std::uint32_t lost_limit = 0;     // evidence: what is below and not acknowledged was lost
  std::uint32_t resend_cursor = 0;  // losses below have been resent in this epoch
  std::uint32_t epoch_next = 0;     // `next` at the latest resend
  Marks sacked;                     // bit i: packet acked + i

  bool exhausted() const { return next == total; }
  bool may_advance() const { return next < total && next - acked < kSpanMax; }
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
  std::uint32_t cumulative = 0;  // all below have come
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

}  // namespace alm::transport
