// What the engine keeps of each peer. Plain records: the rules are in the classes that use them.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "blocks/windows.h"

namespace alm::transport {

using blocks::kSpanMax;
using blocks::ReceiveWindow;
using blocks::SendWindow;

// The fields that the hot path touches: two cache lines.
struct alignas(64) Peer {
  SendWindow send;
  ReceiveWindow recv;
  base::Nanos quiet_since = 0;  // last send, ack progress or probe: the sender's probe timer
  base::Nanos wait_since = 0;   // last data or probe: the receiver's probe timer
  base::Nanos heard = 0;        // last authentic packet, in time listened
  base::Nanos owed_since = base::kNever;  // first data not yet acknowledged
  std::uint64_t owed_exchange = 0;
  std::uint32_t probe_number = 0;
  std::uint32_t probe_next = 0;  // `next` when it was sent
  std::uint32_t echo = 0;        // probe to answer
  std::uint32_t round = 0;       // the round in which it sends to this rank
  std::uint8_t backoff = 0;      // probes unanswered
  bool ack_queued = false, resend_queued = false, probe_queued = false;
  bool resent_since_probe = false, probe_of_tail = false, warned = false;
  bool withheld = false;  // the block for it is not there yet
};
static_assert(sizeof(Peer) <= 128, "hot state per peer (design section 5)");

// The other fields: the exchange before, the one after, and rare events.
struct Aside {
  SendWindow tail;
  ReceiveWindow early;
  std::uint64_t reply_exchange = 0;
  std::uint32_t bitmap_turn = 0;
  std::uint32_t probed_since = 0;  // the first of the probes since which nothing was sent
  std::uint32_t asked = 0;         // number of the probe whose answer is timed; 0: none
  base::Nanos asked_at = 0;        // when that probe was sent
  base::Nanos answered_in = 0;     // the time to an answer that was not held back; 0: none
};

}  // namespace alm::transport
