// How a TCP connection behaves. Defaults are those of Linux.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace alm::tcp {

enum class Control : std::uint8_t {
  kNewReno,  // RFC 5681, RFC 6582
  kCubic,    // RFC 9438
  kDctcp,    // RFC 8257
};

struct Config {
  Control control = Control::kCubic;
  std::uint32_t segment_bytes = 1448;  // of data, in a full segment
  std::uint32_t initial_window = 10;   // segments (RFC 6928)
  bool sack = true;                    // RFC 2018
  // Losses are found by time, and a lost tail by a probe (RFC 8985), in addition to three later
  // segments that have come (RFC 6675). Needs `sack`. Stacks before Linux 4.18 have it off.
  bool rack = true;
  bool ecn = false;  // RFC 3168; DCTCP always has it
  bool idle_restart = true;
  base::Nanos rto_min = 200 * base::kMillisecond;
  base::Nanos rto_max = 120 * base::kSecond;
  base::Nanos rto_first = base::kSecond;  // before a round trip has been measured
  base::Nanos delayed_ack = 40 * base::kMillisecond;
  base::Nanos probe_slack = 8 * base::kMillisecond;  // two ticks of a kernel at 250 Hz
  std::uint32_t quick_acks = 16;  // segments that are acknowledged at once, at the start

  bool uses_ecn() const { return ecn || control == Control::kDctcp; }
};

}  // namespace alm::tcp
