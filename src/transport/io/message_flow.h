// How much of an exchange over MPI messages is under way at once.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/time.h"

namespace alm::io {

struct MessageFlow {
  // NOLINTNEXTLINE(google-explicit-constructor): mostly the one figure that is given.
  constexpr MessageFlow(std::uint32_t sends) : outstanding(sends) {}
  constexpr MessageFlow(std::uint32_t sends, std::uint32_t clocked, std::uint64_t bytes)
      : outstanding(sends), window_chunks(clocked), chunk_bytes(bytes) {}

  // For switches that drop what they cannot hold: `window` packets of this MTU, at least 1. A chunk
  // brings about three small packets against it, TCP's acknowledgements and what some MPI libraries
  // answer, and each takes a place in the queues. A chunk of three segments brings as many as one
  // of a single segment. One chunk alone leaves links idle (docs/adr/0017).
  static constexpr MessageFlow of_packets(std::uint32_t window, std::uint32_t mtu_bytes,
                                          std::uint32_t sends) {
    constexpr std::uint32_t kAroundSegment = 52;  // headers of IP and TCP with time stamps
    constexpr std::uint32_t kAroundChunk = 64;    // the MPI library's own
    constexpr std::uint32_t kSegments = 3;
    constexpr std::uint32_t kChunks = 2;
    const std::uint32_t segments = std::min((window + 1) / kChunks, kSegments);
    const std::uint32_t chunks = std::max(window / segments, std::min(window, kChunks));
    return {std::max(chunks, sends), chunks,
            segments * (mtu_bytes - kAroundSegment) - kAroundChunk};
  }

  // For a host's link of this rate, shared by `sharers` ranks. So many chunks could have passed: if
  // none comes meanwhile, what comes cannot clock what is sent.
  void wait_for_link(double rate_mbit_s, std::uint32_t sharers) {
    constexpr double kChunks = 16;
    if (!(rate_mbit_s > 0)) return;
    patience =
        std::llround(kChunks * sharers * 8e3 * static_cast<double>(chunk_bytes) / rate_mbit_s);
  }

  std::uint32_t outstanding;  // sends that have not completed, at once
  // What has been sent and not been balanced by what has come, in chunks; 0: not counted. MPI tells
  // when a buffer is free again, not when a message has come: only what comes can clock what is
  // sent (000 Alg 2).
  std::uint32_t window_chunks = 0;
  std::uint64_t chunk_bytes = 0;  // equal on all ranks; 0: the largest there are
  base::Nanos patience = 0;       // a rank whose sends are not clocked waits so long at least
};

}  // namespace alm::io
