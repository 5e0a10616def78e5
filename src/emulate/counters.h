// The emulator's counters, in a file that others read while it runs (Counters in
// python/allemande/lab/inside/emulator.py has the same layout).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"

namespace alm::emulate {

// All little endian. What a reader has read is consistent if `sequence` was even, and the same
// before and after.
struct CountersHeader {
  std::uint64_t magic = 0x31524f54414c554d;  // "MULATOR1"
  std::uint32_t version = 1;
  std::uint32_t ports = 0;
  std::uint64_t sequence = 0;
  std::uint64_t published_ns = 0;  // CLOCK_MONOTONIC
  std::uint64_t frames_in = 0, frames_out = 0;
  std::uint64_t lost = 0;         // by this machine: ring full, or not sent
  std::uint64_t strangers = 0;    // frames for no host of the lab
  std::uint64_t late_frames = 0;  // by more than a frame's time on their last link
  std::uint64_t late_ns = 0, late_ns_max = 0;
  std::uint64_t held = 0;  // in the network now
  std::uint64_t cpu_ns = 0;
  std::uint64_t wakeups = 0;
  std::uint64_t answered = 0;  // packets whose TTL ran out
  std::uint64_t realtime = 0;
};
static_assert(sizeof(CountersHeader) == 128);

struct PortCounters {
  std::uint64_t sent_packets = 0, sent_bytes = 0;
  std::uint64_t dropped_packets = 0;  // its queue was full
  std::uint64_t lost_packets = 0;     // on a lossy or dead link
  std::uint64_t input_dropped = 0;    // by the input buffer it leads to
  std::uint64_t marked = 0;
  std::uint32_t queued_packets = 0, queue_high_water = 0;
  std::uint32_t input_queued = 0, input_high_water = 0;
  std::uint64_t wakes_dropped = 0;  // at a host: frames of shaper.h for which its queue had no room
  std::uint64_t unused[3] = {};
};
static_assert(sizeof(PortCounters) == 96);

class CountersFile {
 public:
  static base::Result<std::unique_ptr<CountersFile>> make(const std::string& path,
                                                          std::uint32_t ports);
  ~CountersFile();
  CountersFile(const CountersFile&) = delete;
  CountersFile& operator=(const CountersFile&) = delete;

  // Readers discard what they read between begin() and end().
  void begin();
  void end();
  CountersHeader& header() { return *header_; }
  PortCounters& port(std::uint32_t number) { return ports_[number]; }

 private:
  CountersFile() = default;

  std::size_t bytes_ = 0;
  CountersHeader* header_ = nullptr;
  PortCounters* ports_ = nullptr;
};

}  // namespace alm::emulate
