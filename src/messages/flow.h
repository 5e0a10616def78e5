// Bounds how much of an exchange over MPI messages is under way at once.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/time.h"

namespace alm::messages {

struct MessageFlow {
  // NOLINTNEXTLINE(google-explicit-constructor): mostly the one figure that is given.
  constexpr MessageFlow(std::uint32_t sends) : outstanding(sends) {}
  constexpr MessageFlow(std::uint32_t sends, std::uint32_t clocked, std::uint64_t bytes)
      : outstanding(sends), window_chunks(clocked), chunk_bytes(bytes) {}

  // For switches that drop what they cannot hold: `window` packets of this MTU, at least 1. A chunk
  // causes about three small packets in the other direction, TCP's acknowledgements and answers of
  // some MPI libraries, and each takes a place in the queues. A chunk of three segments causes as
  // many as a chunk of one segment. A single chunk under way leaves links idle (docs/adr/0017).
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

  // Sets `patience` for a host's link of this rate, shared by `sharers` ranks: the time in which
  // kChunks chunks pass. If none comes meanwhile, arrivals cannot clock what is sent.
  void wait_for_link(double rate_mbit_s, std::uint32_t sharers) {
    constexpr double kChunks = 16;
    if (!(rate_mbit_s > 0)) return;
    patience =
        std::llround(kChunks * sharers * 8e3 * static_cast<double>(chunk_bytes) / rate_mbit_s);
  }

  std::uint32_t outstanding;  // sends that have not completed, at once
  // Bounds the chunks sent minus the chunks received; 0: no bound. MPI tells when a send buffer is
  // free, not when a message has come: only arrivals can clock what is sent (000 Alg 2).
  std::uint32_t window_chunks = 0;
  std::uint64_t chunk_bytes = 0;  // equal on all ranks; 0: the largest there are
  base::Nanos patience = 0;  // least time that a rank waits for arrivals before it sends anyway
};

}  // namespace alm::messages
