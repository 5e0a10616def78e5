// An experiment of the prober, as data: who sends what to whom, when, how fast, how much. Every
// rank gets the same one and carries out its part (probe/rank.h), over any carrier.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace alm::probe {

using base::Nanos;

enum class FlowKind : std::uint8_t {
  kOneWay,  // the receiver notes when packets come
  kEcho     // the receiver sends each back; another goes when one has come back
};

struct Flow {
  std::uint32_t from = 0, to = 0;  // ranks
  Nanos start = 0;                 // after the beginning of the experiment
  // One way: from one train to the next; 0: as fast as the host's link takes packets. Echo: after
  // so long an answer is given up for lost.
  Nanos interval = 0;
  std::uint32_t packets = 0;
  std::uint32_t bytes = 0;  // of a datagram, the prober's header included
  std::uint32_t train = 1;  // packets sent back to back; of an echo: that circulate at once
  FlowKind kind = FlowKind::kOneWay;
  // One way: the kernel is to note when each packet leaves the host. It costs the sender some time.
  bool stamped = false;
};

// A rank that looks at the clock every `interval` and notes when it could not: what its processor
// is kept from doing by a packet.
struct Watch {
  std::uint32_t rank = 0;
  Nanos start = 0, end = 0, interval = 0;
};

struct Experiment {
  std::uint32_t number = 0;  // tells its packets from those of others
  Nanos duration = 0;        // what comes later is not noted
  std::vector<Flow> flows{};
  std::vector<Watch> watches{};
};

constexpr std::uint32_t kRanksMax = 65'536;
constexpr std::uint32_t kPacketsMax = 10'000'000;  // of one flow
constexpr Nanos kDurationMax = 600 * base::kSecond;

// kBadInput where an experiment cannot be carried out by so many ranks: it names the flow.
base::Status check(const Experiment& experiment, std::uint32_t ranks);

// What a rank has seen. Times are those of the rank's own clock, after the experiment's beginning.
struct Sent {
  std::uint32_t flow = 0, number = 0;
  Nanos at = 0;     // given to the carrier
  Nanos until = 0;  // taken by the carrier
  Nanos left = -1;  // handed by the host's kernel to its device; -1: nobody noted that
};
struct Received {
  std::uint32_t flow = 0, number = 0;
  Nanos sent = 0;            // by the sender's clock
  Nanos at = 0;              // come to the host
  Nanos seen = 0;            // come to the program
  std::uint64_t answer = 0;  // 1: the echo of a packet of this rank
};
struct Stall {
  Nanos at = 0, length = 0;  // the clock was looked at then, and so long before
};
static_assert(sizeof(Sent) == 32 && sizeof(Received) == 40 && sizeof(Stall) == 16,
              "the layout Python reads (python/allemande/probe/record.py)");

struct Log {
  std::vector<Sent> sent;
  std::vector<Received> received;
  std::vector<Stall> stalls;
  // Packets that came and found no room in the socket's buffer: the host's failure, not the
  // network's.
  std::uint64_t overflow = 0;
};

}  // namespace alm::probe
