// How much of an exchange over MPI messages is under way at once.
#pragma once

#include <cstdint>

namespace alm::io {

struct MessageFlow {
  // NOLINTNEXTLINE(google-explicit-constructor): mostly the one figure that is given.
  constexpr MessageFlow(std::uint32_t sends) : outstanding(sends) {}
  constexpr MessageFlow(std::uint32_t sends, std::uint32_t clocked, std::uint64_t bytes)
      : outstanding(sends), window_chunks(clocked), chunk_bytes(bytes) {}

  std::uint32_t outstanding;  // sends that have not completed, at once
  // What has been sent and not been balanced by what has come, in chunks; 0: not counted. MPI tells
  // when a buffer is free again, not when a message has come: only what comes can clock what is
  // sent (000 Alg 2).
  std::uint32_t window_chunks = 0;
  std::uint64_t chunk_bytes = 0;  // equal on all ranks; 0: the largest there are
};

}  // namespace alm::io
