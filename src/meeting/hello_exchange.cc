#include "meeting/hello_exchange.h"

#include <algorithm>

namespace alm::meeting {
namespace {

std::byte pattern(std::uint32_t from, std::uint32_t to, std::uint64_t at) {
  return static_cast<std::byte>(from * 131 + to * 31 + at * 7 + 1);
}

}  // namespace

HelloBuffers make_hello(std::uint32_t ranks, std::uint32_t self, std::uint64_t bytes) {
  HelloBuffers buffers;
  buffers.bytes = bytes;
  buffers.send.resize(ranks * bytes);
  buffers.recv.resize(ranks * bytes);
  for (std::uint32_t to = 0; to < ranks; ++to) {
    for (std::uint64_t at = 0; at < bytes; ++at) {
      buffers.send[to * bytes + at] = pattern(self, to, at);
    }
  }
  return buffers;
}

std::vector<std::uint32_t> missing_hellos(const HelloBuffers& buffers, std::uint32_t self) {
  std::vector<std::uint32_t> missing;
  const auto ranks = static_cast<std::uint32_t>(buffers.recv.size() / buffers.bytes);
  for (std::uint32_t from = 0; from < ranks; ++from) {
    for (std::uint64_t at = 0; from != self && at < buffers.bytes; ++at) {
      if (buffers.recv[from * buffers.bytes + at] == pattern(from, self, at)) continue;
      missing.push_back(from);
      break;
    }
  }
  return missing;
}

std::uint64_t hello_outcome(std::uint32_t self, std::span<const std::uint32_t> missing) {
  // Nothing missing, and still the exchange failed: only an acknowledgement did not come.
  const std::uint64_t sender = missing.empty() ? self : missing.front();
  return std::uint64_t{self} << 32 | sender;
}

std::optional<HelloGap> hello_gap(std::uint64_t outcome) {
  if (outcome == kHelloComplete) return std::nullopt;
  return HelloGap{static_cast<std::uint32_t>(outcome >> 32), static_cast<std::uint32_t>(outcome)};
}

}  // namespace alm::meeting
