// Reads datagrams in batches and splits those that UDP_GRO has joined. Allocates nothing after
// construction.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "transport/io/endpoint.h"

namespace alm::io {

class Receiver {
 public:
  static constexpr std::size_t kBatch = 16;
  static constexpr std::size_t kBatchesPerCall = 4;
  static constexpr std::size_t kBufferBytes =
      65'536;  // a whole train with GRO; unused pages are never touched

  Receiver();

  // Reads until the socket is empty or kBatchesPerCall batches have come; returns the number of
  // datagrams. `overflow_seen` is the socket's running SO_RXQ_OVFL count.
  std::size_t receive(int fd, std::uint32_t& overflow_seen, const Endpoint::Sink& sink,
                      EndpointCounters& counters);

 private:
  std::size_t deliver(std::size_t index, std::uint32_t& overflow_seen, const Endpoint::Sink& sink,
                      EndpointCounters& counters);

  struct alignas(cmsghdr) Control {
    std::array<std::byte, CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(std::uint32_t))> bytes;
  };
  std::unique_ptr<std::byte[]> buffers_;
  std::array<mmsghdr, kBatch> messages_{};
  std::array<iovec, kBatch> parts_{};
  std::array<Address, kBatch> from_{};
  std::array<Control, kBatch> controls_{};
};

}  // namespace alm::io
