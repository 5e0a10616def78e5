// UDP sockets of one process: one per path, never per peer. Knows datagrams and addresses, nothing
// of the protocol. Not thread-safe, except block(), which may run beside everything but close.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "transport/io/address.h"
#include "transport/io/hops.h"
#include "wire/header.h"

namespace alm::io {

// A process has at most so many. With one at each end more or less there is another five-tuple, so
// that 8 make 64.
constexpr std::uint32_t kSocketsMax = 8;

// A path as a five-tuple: which of this process's sockets, and which of the peer's ports. With k of
// each, k * k paths differ; the first k of them in both. Of a host with several links the sockets
// have the addresses by turns, and a path stays on one link: with `links` of them (a divisor of k)
// k * k / links paths differ.
struct Tuple {
  std::uint8_t socket = 0, port = 0;
};
constexpr Tuple tuple_of(std::uint8_t path, std::size_t sockets, std::size_t links = 1) {
  const std::size_t turn = path / sockets;
  return {static_cast<std::uint8_t>(path % sockets),
          static_cast<std::uint8_t>((path + turn * links) % sockets)};
}
// By path, to one peer.
using Tuples = std::vector<Tuple>;
inline Tuples round_of_links(std::uint32_t paths, std::size_t sockets, std::size_t links) {
  Tuples tuples;
  for (std::uint32_t path = 0; path < paths; ++path) {
    tuples.push_back(tuple_of(static_cast<std::uint8_t>(path), sockets, links));
  }
  return tuples;
}
// The fewest with a five-tuple for each path, as many on each link.
constexpr std::uint32_t sockets_for(std::uint32_t paths, std::uint32_t links = 1) {
  std::uint32_t sockets = links;
  while (sockets * (sockets / links) < paths && sockets + links <= kSocketsMax) sockets += links;
  return sockets;
}
// The fewest with five-tuples to choose from: 8 for each path, so that of 4 equal ways between two
// hosts one is missed by all of them once in 2500 pairs.
constexpr std::uint32_t sockets_to_choose_for(std::uint32_t paths) {
  constexpr std::uint32_t kTuplesPerPath = 8;
  return paths == 1 ? 1 : sockets_for(kTuplesPerPath * paths);
}

struct EndpointOptions {
  // Numeric IPv4 or IPv6; empty: choose_local_address("", "").
  std::string local_address;
  // Of the host's other links: the sockets take turns on all of them.
  std::vector<std::string> further_addresses = {};
  std::uint32_t paths = 1;  // sockets
  // 0: from the interface, at most kMtuBytesDefaultMax.
  std::uint32_t mtu_bytes = 0;
  // 0: two trains or 1 ms of pace_mbit_s, whichever is more.
  std::uint32_t send_buffer_packets = 0;
  // Of kernel memory, see packets_that_fit(). A warning when the kernel grants too little for
  // receive_packets_min.
  std::uint32_t receive_buffer_bytes = 4u << 20;
  std::uint32_t receive_packets_min = 128;
  // The rate of all links together, for pacing in user space where the kernel gives no
  // back-pressure; 0: never.
  double pace_mbit_s = 0;
  std::uint32_t grain_packets = 1;  // longest train
  // What the queues on the way hold of an exchange without a window: that much need not be paced.
  std::uint32_t burst_packets = 0;
  bool allow_gso = true, allow_gro = true;
};

constexpr std::uint32_t kMtuBytesDefaultMax = 9000;  // loopback would offer 65536

// How many datagrams with so many bytes of payload a socket buffer of so much kernel memory holds.
// Windows stay below.
std::uint32_t packets_that_fit(std::uint32_t buffer_bytes, std::uint32_t datagram_bytes);

struct EndpointCounters {
  std::uint64_t datagrams_sent = 0, datagrams_received = 0;
  std::uint64_t send_calls = 0, receive_calls = 0, waits = 0;
  std::uint64_t trains_sent = 0;                  // UDP_SEGMENT sends
  std::uint64_t would_block = 0, no_buffers = 0;  // EAGAIN, ENOBUFS (local, not network loss)
  std::uint64_t paced = 0;                        // sends the pacer held back
  std::uint64_t receive_overflow = 0;             // SO_RXQ_OVFL
  std::uint64_t refused = 0;        // ICMP errors seen, and datagrams given up because of an error
  std::uint64_t oversized = 0;      // EMSGSIZE: dropped, longer than the interface's MTU
  std::uint64_t truncated = 0;      // received longer than any buffer
  std::uint64_t gso_fallbacks = 0;  // destinations that take no train
};

// One datagram for the network: head and payload are sent back to back.
struct SendItem {
  const Address* to = nullptr;
  std::uint8_t path = 0;  // number of the socket
  std::span<const std::byte> head, payload;

  std::size_t bytes() const { return head.size() + payload.size(); }
};

struct Ready {
  bool readable = false;  // a datagram waits
  bool writable = false;  // the kernel takes more, or the pacer's time has come
  bool error = false;     // call clear_errors(), or every further wait returns at once
  bool woken = false;     // wake_fd is readable
};

// What one wait blocks on; made under the caller's lock, blocked on without it.
struct WaitPlan {
  base::Nanos timeout = 0;
  bool read = true;
  int write_fd = -1;
  bool write_timed = false;  // `timeout` is when sending may go on
  int wake_fd = -1;
};

class Endpoint {
 public:
  static base::Result<std::unique_ptr<Endpoint>> open(const EndpointOptions& options);
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  Address local(std::uint32_t path = 0) const;
  std::uint32_t paths() const;
  std::uint32_t datagram_bytes() const;  // largest UDP payload of one packet on the interface
  // Of kernel memory, as granted, in each socket.
  std::uint32_t receive_buffer_bytes() const;
  std::vector<std::string> warnings() const;  // kernel buffers too small: the sysctl to set

  // Sends in order until the kernel (or the pacer) takes no more; returns how many were taken.
  // Runs of equal size to one destination go out as UDP_SEGMENT trains of at most grain_packets.
  std::size_t send(base::Nanos now, std::span<const SendItem> items);

  // After a send that took less than it was given: true when there is nothing to do but wait for
  // the kernel's queue, or the pacer, to take more. Reading may wait as long: on a symmetric
  // exchange as much comes in meanwhile as goes out.
  bool send_blocked() const;

  // How many packets are worth preparing ahead: what a drained send buffer takes at once.
  std::uint32_t batch_packets() const;

  // Hands every waiting datagram to `sink`; returns how many. Bounded per call.
  using Sink = std::function<void(const Address& from, std::span<const std::byte> datagram)>;
  std::size_t receive(const Sink& sink);

  // Blocks in ppoll until a datagram waits (when `read`), the kernel (or pacer) takes more (when
  // `want_write`), `wake_fd` (>= 0) is readable, or the time is reached.
  WaitPlan plan_wait(base::Nanos now, base::Nanos until, bool want_write, int wake_fd = -1,
                     bool read = true);
  Ready block(const WaitPlan& plan) const;
  Ready wait(base::Nanos now, base::Nanos until, bool want_write, int wake_fd = -1) {
    return block(plan_wait(now, until, want_write, wake_fd));
  }

  void clear_errors();

  // See hops.h. False: the kernel takes no more now.
  bool ask(const HopQuestion& question);
  std::vector<HopAnswer> read_answers();

  const EndpointCounters& counters() const;

 private:
  Endpoint();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

base::Nanos monotonic_now();

}  // namespace alm::io
