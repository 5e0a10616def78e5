// What a simulation records about every packet at every port, for drawing.
#pragma once

#include <array>
#include <cstdint>

#include "sim/time.h"

namespace alm::sim {

enum class TraceKind : std::uint8_t {
  kSent,     // waited from `queued` to `start`, was on the link until `end`
  kDropped,  // at `queued`; `start` and `end` are the same
  kLost,     // on the link, at `end`
};

// One for each packet at each port, in the order in which the simulator learns of them: among the
// kDropped of a port, and among its kSent, `queued` never decreases.
struct TraceRecord {
  Picos queued = 0;          // came to the queue of the port
  Picos start = 0;           // first bit on the link
  Picos end = 0;             // last bit on the link
  std::uint32_t port = 0;    // 2 link (up), 2 link + 1 (down)
  std::uint32_t source = 0;  // host
  std::uint32_t destination = 0;
  std::uint32_t bytes = 0;  // on the link
  std::uint32_t label = 0;  // set by the program (harness/simulation.h)
  std::uint32_t depth = 0;  // packets that wait there, this one included
  TraceKind kind = TraceKind::kSent;
  std::array<std::uint8_t, 7>
      unused{};  // the record is written to files as it is, padding included
};

static_assert(sizeof(TraceRecord) == 56, "the layout Python reads (docs/simulator.md)");

class TraceSink {
 public:
  virtual ~TraceSink() = default;
  virtual void on(const TraceRecord& record) = 0;
};

}  // namespace alm::sim
