// Opens and configures one UDP socket, and tells what the kernel granted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "transport/io/address.h"

namespace alm::io {

struct UdpSocketOptions {
  Address local;                        // port 0: any
  std::uint32_t datagram_bytes = 1472;  // largest UDP payload
  std::uint32_t send_buffer_packets = 4;
  std::uint32_t receive_buffer_bytes = 4u << 20;
  std::uint32_t receive_packets_min = 128;
  bool gso = true, gro = true;
};

// Owns the descriptor.
class UdpSocket {
 public:
  static base::Result<UdpSocket> open(const UdpSocketOptions& options);
  UdpSocket(UdpSocket&& other) noexcept;
  UdpSocket& operator=(UdpSocket&&) = delete;
  ~UdpSocket();

  int fd() const { return fd_; }
  const Address& local() const { return local_; }
  bool gso() const { return gso_; }  // the kernel knows UDP_SEGMENT
  bool gro() const { return gro_; }  // UDP_GRO is on
  std::uint32_t receive_buffer_bytes() const { return receive_buffer_bytes_; }
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  explicit UdpSocket(int fd) : fd_(fd) {}
  base::Status configure(const UdpSocketOptions& options);
  void size_buffers(const UdpSocketOptions& options);

  int fd_ = -1;
  Address local_;
  bool gso_ = false, gro_ = false;
  std::uint32_t receive_buffer_bytes_ = 0;
  std::vector<std::string> warnings_;
};

// IP and UDP headers in front of a datagram's payload.
constexpr std::uint32_t header_bytes(int family) { return family == AF_INET6 ? 48 : 28; }

// Kernel memory that one datagram takes in a send or receive buffer (skb->truesize).
std::uint32_t kernel_bytes_per_packet(std::uint32_t datagram_bytes);

}  // namespace alm::io
