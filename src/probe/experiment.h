// An experiment of the prober, as data: who sends what to whom, when, how fast, how much. Every
// rank gets the same experiment and carries out its part (probe/rank.h). A runner moves the
// packets: a UDP socket (probe/io) or the simulator (harness/probing.h).
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace alm::probe {

using base::Nanos;

enum class FlowKind : std::uint8_t {
  kOneWay,  // the receiver notes when packets come
  kEcho     // the receiver sends each packet back; the next leaves when one has come back
};

struct Flow {
  std::uint32_t from = 0, to = 0;  // ranks
  Nanos start = 0;                 // since the beginning of the experiment
  // One way: from one train to the next; 0: as fast as the host's link takes packets. Echo: how
  // long it waits when `train` answers are missing; then they count as lost.
  Nanos interval = 0;
  std::uint32_t packets = 0;
  std::uint32_t bytes = 0;  // of each datagram, the prober's header included
  std::uint32_t train = 1;  // packets sent back to back; echo: packets under way at once
  FlowKind kind = FlowKind::kOneWay;
  // One way: the kernel notes when each packet leaves the host. That costs the sender some time.
  bool stamped = false;
};

// A rank that looks at the clock every `interval` and notes when it could not: the time that a
// packet takes from its processor.
struct Watch {
  std::uint32_t rank = 0;
  Nanos start = 0, end = 0, interval = 0;
};

struct Experiment {
  std::uint32_t number = 0;  // distinguishes its packets from those of other experiments
  Nanos duration = 0;        // packets that come later are not noted
  std::vector<Flow> flows{};
  std::vector<Watch> watches{};
};

constexpr std::uint32_t kRanksMax = 65'536;
constexpr std::uint32_t kPacketsMax = 10'000'000;  // of one flow
constexpr Nanos kDurationMax = 600 * base::kSecond;

// kBadInput if so many ranks cannot carry the experiment out; the text names the flow.
base::Status check(const Experiment& experiment, std::uint32_t ranks);

// What a rank has seen. Times are by the rank's own clock, since the beginning of the experiment.
struct Sent {
  std::uint32_t flow = 0, number = 0;
  Nanos at = 0;     // given to the runner
  Nanos until = 0;  // taken by the runner
  Nanos left = -1;  // handed by the host's kernel to its device; -1: not noted
};
struct Received {
  std::uint32_t flow = 0, number = 0;
  Nanos sent = 0;            // by the sender's clock
  Nanos at = 0;              // arrived at the host
  Nanos seen = 0;            // read by the program
  std::uint64_t answer = 0;  // 1: the answer to a packet of this rank
};
struct Stall {
  Nanos at = 0, length = 0;  // the rank looked at the clock at `at`, and `length` before that
};
static_assert(sizeof(Sent) == 32 && sizeof(Received) == 40 && sizeof(Stall) == 16,
              "the layout Python reads (python/allemande/probe/record.py)");

struct Log {
  std::vector<Sent> sent;
  std::vector<Received> received;
  std::vector<Stall> stalls;
  // Packets that found no room in the socket's buffer: lost by the host, not by the network.
  std::uint64_t overflow = 0;
};

}  // namespace alm::probe
