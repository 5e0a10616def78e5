#include "emulate/frame_sender.h"

#include <unistd.h>

#include <cerrno>

#include "emulate/packet_socket.h"

namespace alm::emulate {
namespace {

constexpr int kBufferBytes = 8 << 20;

}  // namespace

base::Result<std::unique_ptr<FrameSender>> FrameSender::open() {
  std::unique_ptr<FrameSender> out(new FrameSender);
  out->socket_ = ::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (out->socket_ < 0) return packet_socket_error("cannot be opened");
  const int on = 1;
  for (const int option : {PACKET_VNET_HDR, PACKET_QDISC_BYPASS}) {
    if (::setsockopt(out->socket_, SOL_PACKET, option, &on, sizeof on) != 0) {
      return packet_socket_error("an option of packet(7) is refused");
    }
  }
  // Frames count against it until the host's protocol has them. Without privileges it is smaller,
  // and still holds what one flush sends.
  if (::setsockopt(out->socket_, SOL_SOCKET, SO_SNDBUFFORCE, &kBufferBytes, sizeof kBufferBytes) !=
      0) {
    (void)::setsockopt(out->socket_, SOL_SOCKET, SO_SNDBUF, &kBufferBytes, sizeof kBufferBytes);
  }
  out->messages_.resize(kBatch);
  out->parts_.resize(kBatch);
  out->addresses_.resize(kBatch);
  for (std::size_t i = 0; i < kBatch; ++i) {
    msghdr& header = out->messages_[i].msg_hdr;
    header.msg_iov = &out->parts_[i];
    header.msg_iovlen = 1;
    header.msg_name = &out->addresses_[i];
    header.msg_namelen = sizeof(sockaddr_ll);
    out->addresses_[i].sll_family = AF_PACKET;
  }
  return out;
}

FrameSender::~FrameSender() {
  if (socket_ >= 0) ::close(socket_);
}

void FrameSender::add(std::uint32_t device, std::span<const std::byte> with_header) {
  parts_[count_] = {const_cast<std::byte*>(with_header.data()), with_header.size()};
  addresses_[count_].sll_ifindex = static_cast<int>(device);
  ++count_;
}

void FrameSender::flush() {
  std::size_t at = 0;
  while (at < count_) {
    const int sent =
        ::sendmmsg(socket_, &messages_[at], static_cast<unsigned>(count_ - at), MSG_DONTWAIT);
    if (sent > 0) {
      at += static_cast<std::size_t>(sent);
    } else if (errno != EINTR) {
      ++lost_;  // the first of them, for a reason of its own
      ++at;
    }
  }
  count_ = 0;
}

}  // namespace alm::emulate
