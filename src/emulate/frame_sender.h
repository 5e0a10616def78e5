// Sends frames through the devices of a namespace, many at a time.
#pragma once

#include <linux/if_packet.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"

namespace alm::emulate {

class FrameSender {
 public:
  static constexpr std::size_t kBatch = 32;

  static base::Result<std::unique_ptr<FrameSender>> open();
  ~FrameSender();
  FrameSender(const FrameSender&) = delete;
  FrameSender& operator=(const FrameSender&) = delete;

  // The frame begins with a virtio_net_hdr, as in FrameRing. Its memory must stay until flush().
  void add(std::uint32_t device, std::span<const std::byte> with_header);
  bool full() const { return count_ == kBatch; }
  bool empty() const { return count_ == 0; }
  void flush();
  // Frames that the kernel did not take.
  std::uint64_t lost() const { return lost_; }

 private:
  FrameSender() = default;

  int socket_ = -1;
  std::size_t count_ = 0;
  std::vector<mmsghdr> messages_;
  std::vector<iovec> parts_;
  std::vector<sockaddr_ll> addresses_;
  std::uint64_t lost_ = 0;
};

}  // namespace alm::emulate
