// A packet as the network sees it: no payload. Whoever drives the hosts keeps what it needs besides
// in an array of its own, by the same index.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/time.h"

namespace alm::sim {

constexpr std::uint32_t kNone = UINT32_MAX;

struct Packet {
  std::uint32_t destination = 0;  // host
  std::uint32_t flow = 0;         // routing::Routes::next
  std::uint32_t bytes = 0;        // on the link
  std::uint32_t source = 0;       // host
  std::uint32_t label = 0;        // for traces
  std::uint32_t next = kNone;     // in the fifo it waits in, or the next free one
  std::uint32_t out = kNone;      // port it waits for
  std::uint32_t in = kNone;       // port it came through
  Picos tail = 0;                 // when its last bit is here (cut-through)
};

// Packets by index; indices of packets that have left are used again, the latest first.
class PacketPool {
 public:
  Packet& operator[](std::uint32_t index) { return packets_[index]; }
  const Packet& operator[](std::uint32_t index) const { return packets_[index]; }
  std::uint32_t take() {
    if (free_ == kNone) {
      packets_.emplace_back();
      return static_cast<std::uint32_t>(packets_.size() - 1);
    }
    const std::uint32_t index = free_;
    free_ = packets_[index].next;
    return index;
  }
  void give_back(std::uint32_t index) {
    packets_[index].next = free_;
    free_ = index;
  }
  std::size_t size() const { return packets_.size(); }
  std::size_t bytes() const { return packets_.capacity() * sizeof(Packet); }

 private:
  std::vector<Packet> packets_;
  std::uint32_t free_ = kNone;
};

}  // namespace alm::sim
