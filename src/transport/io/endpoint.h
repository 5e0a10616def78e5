// UDP sockets of one process: one per path, never per peer. Knows datagrams and addresses, nothing
// of the protocol.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace alm::io {

struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;
};
base::Result<Address> make_address(const std::string& numeric, std::uint16_t port);
std::string to_string(const Address& address);

struct EndpointOptions {
  std::string local_address;             // numeric IPv4 or IPv6; empty: chosen by choose_local_address
  std::uint32_t paths = 1;               // sockets
  std::uint32_t mtu_bytes = 0;           // 0: from the route's interface
  std::uint32_t send_buffer_packets = 0; // 0: sized for two trains (POLLOUT fires when half has drained)
  std::uint32_t receive_buffer_bytes = 4u << 20;
  double pace_mbit_s = 0;                // user-space pacing where the kernel gives no back-pressure; 0: unknown rate
  std::uint32_t grain_packets = 1;
  bool allow_gso = true, allow_gro = true;
};

struct EndpointCounters {
  std::uint64_t datagrams_sent = 0, datagrams_received = 0;
  std::uint64_t send_calls = 0, receive_calls = 0, waits = 0;
  std::uint64_t would_block = 0, no_buffers = 0;  // EAGAIN, ENOBUFS (local, not network loss)
  std::uint64_t receive_overflow = 0;             // SO_RXQ_OVFL
  std::uint64_t refused = 0;                      // ICMP errors seen
  std::uint64_t gso_fallbacks = 0;
};

// One datagram for the network: head and payload are sent back to back.
struct SendItem {
  const Address* to = nullptr;
  std::uint8_t path = 0;
  std::span<const std::byte> head, payload;
};

class Endpoint {
 public:
  static base::Result<std::unique_ptr<Endpoint>> open(const EndpointOptions& options);
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  Address local(std::uint32_t path = 0) const;
  std::uint32_t datagram_bytes() const;  // largest UDP payload of one packet on the route
  std::vector<std::string> warnings() const;  // kernel buffers too small: the sysctl to set

  // Sends in order until the kernel (or the pacer) takes no more; returns how many were taken.
  // Runs of equal size to one destination go out as one UDP_SEGMENT train.
  std::size_t send(base::Nanos now, std::span<const SendItem> items);

  // Hands every waiting datagram to `sink`; returns how many. Bounded per call.
  using Sink = std::function<void(const Address& from, std::span<const std::byte> datagram)>;
  std::size_t receive(const Sink& sink);

  // Blocks in ppoll until a datagram waits, the kernel (or pacer) takes more when want_write, `wake_fd`
  // (>= 0) is readable, or the time is reached.
  void wait(base::Nanos now, base::Nanos until, bool want_write, int wake_fd = -1);

  const EndpointCounters& counters() const;
  void close_in_child();  // after fork

 private:
  Endpoint();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Address of the interface named, or of the route to `peer`; never loopback unless the peer is this host.
base::Result<std::string> choose_local_address(const std::string& interface, const std::string& peer);

base::Nanos monotonic_now();

}  // namespace alm::io
