// Sends a list of datagrams with as few system calls as the kernel allows: sendmmsg over messages,
// each a datagram or a UDP_SEGMENT train. Allocates nothing after construction.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/time.h"
#include "transport/io/endpoint.h"

namespace alm::io {

struct SendResult {
  enum class Stop {
    kNone,       // everything was taken
    kFull,       // the socket's buffer is full: wait for POLLOUT
    kNoBuffers,  // the queueing discipline is full, or no memory: wait a little
  };
  std::size_t taken = 0;
  Stop stop = Stop::kNone;
};

// Destinations for which the kernel refused a train (EIO: no checksum offload on the device;
// EINVAL, EMSGSIZE: segment size). They get single datagrams from then on.
class TrainRefusals {
 public:
  void add(const Address& to);
  bool contains(const Address& to) const;
  bool empty() const { return list_.empty() && !all_; }

 private:
  static constexpr std::size_t kMax = 64;  // with more, no destination gets trains
  std::vector<Address> list_;
  bool all_ = false;
};

class Sender {
 public:
  static constexpr std::size_t kItemsPerCall = 64;
  static constexpr std::size_t kTrainSegmentsMax = 64;  // UDP_MAX_SEGMENTS of the oldest kernels
  static constexpr std::size_t kTrainBytesMax = 65'000;

  Sender();

  // Sends `items` (at most kItemsPerCall), which all have the path of `fd`. Trains have up to
  // `train_packets` datagrams; 1: no trains.
  SendResult send(int fd, std::size_t train_packets, std::span<const SendItem> items,
                  EndpointCounters& counters);

 private:
  std::size_t build(std::size_t train_packets, std::span<const SendItem> items);
  std::size_t train_length(std::size_t limit, std::span<const SendItem> items) const;
  void survive(int error, std::span<const SendItem> items, EndpointCounters& counters,
               std::size_t& given_up);

  struct alignas(cmsghdr) SegmentControl {
    std::array<std::byte, CMSG_SPACE(sizeof(std::uint16_t))> bytes;
  };
  std::array<mmsghdr, kItemsPerCall> messages_{};
  std::array<std::uint16_t, kItemsPerCall> segments_{};
  std::array<iovec, 2 * kItemsPerCall> parts_{};
  std::array<SegmentControl, kItemsPerCall> controls_{};
  TrainRefusals refusals_;
  bool retried_ = false;  // the first datagram has met one soft error
};

}  // namespace alm::io
