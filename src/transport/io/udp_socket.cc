#include "transport/io/udp_socket.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/errqueue.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

namespace alm::io {
namespace {

bool set_option(int fd, int level, int name, int value) {
  return ::setsockopt(fd, level, name, &value, sizeof value) == 0;
}

int get_option(int fd, int level, int name) {
  int value = 0;
  socklen_t length = sizeof value;
  return ::getsockopt(fd, level, name, &value, &length) == 0 ? value : -1;
}

}  // namespace

std::uint32_t kernel_bytes_per_packet(std::uint32_t datagram_bytes) {
  // A linear skb: headers, alignment and skb_shared_info (320 bytes) round up to a power of two;
  // sk_buff itself adds 256. 1472 bytes of payload give 2304, 8972 give 16640 (read back with
  // SIOCOUTQ).
  return std::bit_ceil(datagram_bytes + 48 + 48 + 320) + 256;
}

base::Result<UdpSocket> UdpSocket::open(const UdpSocketOptions& options) {
  const int fd = ::socket(options.local.family(), SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0)
    return base::io_error(fmt::format("cannot open a UDP socket: {}", std::strerror(errno)));
  UdpSocket socket(fd);
  if (auto status = socket.configure(options); !status) return status.error();
  return socket;
}

UdpSocket::UdpSocket(UdpSocket&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      local_(other.local_),
      gso_(other.gso_),
      gro_(other.gro_),
      receive_buffer_bytes_(other.receive_buffer_bytes_),
      warnings_(std::move(other.warnings_)) {}

UdpSocket::~UdpSocket() {
  if (fd_ >= 0) ::close(fd_);
}

base::Status UdpSocket::configure(const UdpSocketOptions& options) {
  const bool v6 = options.local.family() == AF_INET6;
  if (v6) set_option(fd_, IPPROTO_IPV6, IPV6_V6ONLY, 1);

  // Do not fragment, and do not believe cached path MTUs either: the hello finds the holes.
  const bool df = v6 ? set_option(fd_, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE)
                     : set_option(fd_, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE);
  // Without RECVERR, sends into a full queueing discipline report success.
  const bool errors = v6 ? set_option(fd_, IPPROTO_IPV6, IPV6_RECVERR, 1)
                         : set_option(fd_, IPPROTO_IP, IP_RECVERR, 1);
  if (!df || !errors) {
    return base::io_error(fmt::format("cannot set {} on a UDP socket: {}",
                                      df ? "IP_RECVERR" : "IP_MTU_DISCOVER", std::strerror(errno)));
  }
  set_option(fd_, SOL_SOCKET, SO_RXQ_OVFL, 1);
  // Value 0 changes nothing where it is known: only asks.
  gso_ = options.gso && set_option(fd_, IPPROTO_UDP, UDP_SEGMENT, 0);
  gro_ = options.gro && set_option(fd_, IPPROTO_UDP, UDP_GRO, 1);
  size_buffers(options);

  if (::bind(fd_, options.local.get(), options.local.length) != 0) {
    return base::io_error(fmt::format("cannot bind a UDP socket to {}: {}",
                                      to_string(options.local), std::strerror(errno)));
  }
  local_.length = sizeof(local_.storage);
  if (::getsockname(fd_, reinterpret_cast<sockaddr*>(&local_.storage), &local_.length) != 0) {
    return base::io_error(fmt::format("getsockname: {}", std::strerror(errno)));
  }
  return {};
}

void UdpSocket::size_buffers(const UdpSocketOptions& options) {
  const std::uint32_t per_packet = kernel_bytes_per_packet(options.datagram_bytes);
  // The kernel doubles what it is given, for its own overhead, which per_packet already contains.
  const int receive = static_cast<int>(options.receive_buffer_bytes / 2);
  if (!set_option(fd_, SOL_SOCKET, SO_RCVBUFFORCE, receive))
    set_option(fd_, SOL_SOCKET, SO_RCVBUF, receive);
  receive_buffer_bytes_ =
      static_cast<std::uint32_t>(std::max(0, get_option(fd_, SOL_SOCKET, SO_RCVBUF)));
  if (receive_buffer_bytes_ / per_packet < options.receive_packets_min) {
    warnings_.push_back(
        fmt::format("the receive buffer holds {} packets of {} bytes, {} are wanted; set it with: "
                    "sysctl -w net.core.rmem_max={}",
                    receive_buffer_bytes_ / per_packet, options.datagram_bytes,
                    options.receive_packets_min, receive));
  }

  const int send = static_cast<int>(options.send_buffer_packets * per_packet / 2);
  set_option(fd_, SOL_SOCKET, SO_SNDBUF, send);
  // A send buffer above net.core.wmem_max would need force; what is asked for here is small.
  const int granted = get_option(fd_, SOL_SOCKET, SO_SNDBUF);
  if (granted < 2 * send && !set_option(fd_, SOL_SOCKET, SO_SNDBUFFORCE, send)) {
    warnings_.push_back(fmt::format(
        "the send buffer is {} bytes, {} are wanted; set it with: sysctl -w net.core.wmem_max={}",
        granted, 2 * send, send));
  }
}

}  // namespace alm::io
