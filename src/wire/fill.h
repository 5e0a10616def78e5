// A fill: packets to every peer that carry nothing, to see how many come. All ranks number their
// fills alike. Nobody answers them, and none is sent again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/mix.h"
#include "wire/header.h"

namespace alm::wire {

// What one rank knows of it.
struct FillCount {
  std::uint64_t number = 0;  // of its latest; 0: it has sent none
  std::uint64_t sent = 0;    // packets of that, also if some were dropped before they left
  std::uint64_t seen = 0;    // number of the latest of which something has come
  std::uint64_t received = 0;

  void came(std::uint64_t fill) {
    if (fill < seen) return;  // late
    if (fill > seen) received = 0;
    seen = fill;
    ++received;
  }
  FillCount& operator+=(const FillCount& more) {
    number += more.number;
    sent += more.sent;
    seen += more.seen;
    received += more.received;
    return *this;
  }
};

// Those of one rank: `packets` of `bytes` to each of `count - 1` peers.
class Fill {
 public:
  Fill() = default;
  // The peers come in an order of chance, another on every rank.
  Fill(std::uint32_t self, std::uint32_t count, std::uint32_t packets, std::uint32_t bytes)
      : packets_(packets), bytes_(bytes) {
    for (std::uint32_t peer = 0; peer < count; ++peer) {
      if (peer != self) peers_.push_back(peer);
    }
    std::sort(peers_.begin(), peers_.end(),
              [self](std::uint32_t a, std::uint32_t b) { return place(self, a) < place(self, b); });
  }

  bool any() const { return made_ < peers_.size() * packets_; }
  // Of the next packet. Precondition: any().
  std::uint32_t peer() const { return peers_[made_ / packets_]; }
  std::span<const std::byte> payload() const { return bytes_; }
  Header header(std::uint64_t number) const {
    Header out;
    out.type = Type::kFill;
    out.packet = static_cast<std::uint32_t>(number);
    return out;
  }
  void made() { ++made_; }

 private:
  static std::uint64_t place(std::uint32_t self, std::uint32_t peer) {
    return base::mix((std::uint64_t{self} << 32 | peer) + base::kGolden);
  }

  std::vector<std::uint32_t> peers_;
  std::uint32_t packets_ = 0;
  std::uint64_t made_ = 0;
  std::vector<std::byte> bytes_;  // of one
};

}  // namespace alm::wire
