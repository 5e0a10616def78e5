// What the nodes of a swarm with bytes have in common: the bytes of blocks and of datagrams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "network.h"
#include "transport/channel.h"
#include "wire/header.h"

namespace alm::swarm {

using Bytes = std::vector<std::byte>;

constexpr std::byte kUntouched{0xEE};

// Byte `offset` of a block.
inline std::byte pattern(std::uint64_t exchange, PeerId from, PeerId to, std::uint64_t offset) {
  const std::uint64_t mixed =
      (exchange * 1000003 + from * 8191 + to * 131 + offset) * 0x9E3779B97F4A7C15u;
  return static_cast<std::byte>(mixed >> 56);
}

inline bool pull_datagram(transport::Channel& channel, base::Nanos now, PeerId* to,
                          Bytes* datagram) {
  transport::Outgoing outgoing;
  if (channel.pull(now, {&outgoing, 1}) == 0) return false;
  *to = outgoing.peer;
  datagram->assign(outgoing.head().begin(), outgoing.head().end());
  datagram->insert(datagram->end(), outgoing.payload.begin(), outgoing.payload.end());
  return true;
}

inline wire::Header header_of_datagram(const Bytes& datagram) {
  wire::Header header;
  wire::decode(datagram, &header);
  return header;
}

inline void corrupt_datagram(Bytes& datagram, std::mt19937_64& random) {
  const std::size_t bit = random() % (8 * datagram.size());
  datagram[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
  if (random() % 3 == 0) datagram.resize(random() % datagram.size());
}

}  // namespace alm::swarm
