// The first exchange on a new set of peers: one full packet of a known pattern for every pair. It
// shows that UDP packets of this size get through between all hosts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace alm::meeting {

struct HelloBuffers {
  std::vector<std::byte> send, recv;  // ranks blocks of `bytes` each
  std::uint64_t bytes = 0;
};

HelloBuffers make_hello(std::uint32_t ranks, std::uint32_t self, std::uint64_t bytes);

// The ranks whose blocks have not come, or have come changed.
std::vector<std::uint32_t> missing_hellos(const HelloBuffers& buffers, std::uint32_t self);

// The outcome of one rank as a number, so that the minimum is the outcome of all: complete, or the
// lowest rank that misses a block and the first rank that it misses one from.
constexpr std::uint64_t kHelloComplete = UINT64_MAX;
std::uint64_t hello_outcome(std::uint32_t self, std::span<const std::uint32_t> missing);

struct HelloGap {
  std::uint32_t receiver = 0, sender = 0;
};
std::optional<HelloGap> hello_gap(std::uint64_t outcome);

}  // namespace alm::meeting
