// What a simulation tells about every packet at every port, for whoever wants to draw it.
#pragma once

#include <array>
#include <cstdint>

#include "sim/time.h"

namespace alm::sim {

enum class TraceKind : std::uint8_t {
  kSent,     // queued .. start .. end: waited, then on the link
  kDropped,  // at `queued`; start and end are the same
  kLost,     // on a link that was down; at `end`
};

// One for each packet at each port, in the order the simulator learns of them: `queued` never
// falls within kDropped and within the kSent of one port.
struct TraceRecord {
  Picos queued = 0;          // came to the queue of the port
  Picos start = 0;           // first bit on the link
  Picos end = 0;             // last bit on the link
  std::uint32_t port = 0;    // 2 link (up), 2 link + 1 (down)
  std::uint32_t source = 0;  // host
  std::uint32_t destination = 0;
  std::uint32_t bytes = 0;  // on the link
  std::uint32_t label = 0;  // harness: packet number in its block, or kTraceControl + type
  std::uint32_t depth = 0;  // packets that wait there, this one included
  TraceKind kind = TraceKind::kSent;
  std::array<std::uint8_t, 7> unused{};  // the record is written as it lies: no byte is left open
};

static_assert(sizeof(TraceRecord) == 56, "the layout Python reads (docs/simulator.md)");

class TraceSink {
 public:
  virtual ~TraceSink() = default;
  virtual void on(const TraceRecord& record) = 0;
};

}  // namespace alm::sim
