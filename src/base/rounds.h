// Who sends to whom in which order. Plans consist of it, the transport follows it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace alm::base {

using PeerId = std::uint32_t;  // a member of a phase, 0 .. members - 1

// Packets to or from one peer: `packets` of them from step `step` on, one in each step. A step is
// the time of one packet on the host link, counted from the start of the exchange.
struct Train {
  PeerId peer = 0;
  std::uint32_t packets = 0;
  std::uint64_t step = 0;
};

// The part of one member in a phase. Round i sends to send[send_begin[i] .. send_begin[i + 1]) in
// this order, and is complete when everything from recv[recv_begin[i] .. recv_begin[i + 1]) has
// come as well.
struct Rounds {
  std::vector<PeerId> send, recv;
  std::vector<std::uint32_t> send_begin, recv_begin;  // count() + 1 entries each
  // [i] path to send[i] by the plan, or kAnyPath: the sender chooses. Empty: path 0 or, if the
  // sender follows no plan, any.
  static constexpr std::uint8_t kAnyPath = UINT8_MAX;
  std::vector<std::uint8_t> paths;
  bool interleaved = true;  // packets to a round's partners alternate; false: block after block
  // For blocks of different sizes: what is sent and what comes, step by step. Packets that are in
  // no train follow in the order of the rounds.
  std::vector<Train> trains, arrivals;
  std::uint64_t steps = 0;  // of the whole exchange
  // Packets that may be under way at least, where no queue fills up by them; 0: the usual window.
  std::uint32_t window_least = 0;

  std::size_t count() const { return send_begin.empty() ? 0 : send_begin.size() - 1; }
};

}  // namespace alm::base
