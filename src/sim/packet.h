// A packet as the network sees it, without payload. The program on the hosts keeps its own data by
// the same index.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/time.h"

namespace alm::sim {

constexpr std::uint32_t kNone = UINT32_MAX;

// Two fit a cache line.
struct alignas(32) Packet {
  std::uint32_t destination = 0;  // host
  std::uint32_t flow = 0;         // routing::Routes::next
  std::uint32_t bytes = 0;        // on the link
  std::uint32_t source = 0;       // host
  std::uint32_t label = 0;        // for traces
  std::uint32_t next = kNone;     // in the fifo it waits in
  std::uint32_t out = kNone;      // port it waits for
  std::uint32_t in = kNone;       // port it came by
};
static_assert(sizeof(Packet) == 32);

// Packets by index. Freed indices are reused, the latest first.
class PacketPool {
 public:
  Packet& operator[](std::uint32_t index) { return packets_[index]; }
  const Packet& operator[](std::uint32_t index) const { return packets_[index]; }
  std::uint32_t take() {
    if (free_.empty()) {
      packets_.emplace_back();
      return static_cast<std::uint32_t>(packets_.size() - 1);
    }
    const std::uint32_t index = free_.back();
    free_.pop_back();
    return index;
  }
  void give_back(std::uint32_t index) { free_.push_back(index); }
  // When the last bit of a packet in a fifo has arrived (cut-through).
  Picos tail(std::uint32_t index) const { return tails_[index]; }
  void set_tail(std::uint32_t index, Picos tail) {
    if (index >= tails_.size()) tails_.resize(packets_.size());
    tails_[index] = tail;
  }
  std::size_t size() const { return packets_.size(); }
  std::size_t bytes() const {
    return packets_.capacity() * sizeof(Packet) + tails_.capacity() * sizeof(Picos) +
           free_.capacity() * sizeof(std::uint32_t);
  }

 private:
  std::vector<Packet> packets_;
  std::vector<Picos> tails_;
  std::vector<std::uint32_t> free_;
};

}  // namespace alm::sim
