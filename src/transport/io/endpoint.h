// The UDP sockets of one process, a few for all peers. Knows datagrams and addresses, nothing of
// the protocol. Not thread-safe, except block(), which may run beside everything but the
// destructor.
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
#include "clocks/rate_claim.h"
#include "transport/io/address.h"
#include "transport/io/hops.h"
#include "wire/header.h"

namespace alm::io {

// The most sockets of a process. Every pair of a local socket and a peer's port is a five-tuple, so
// 8 sockets make 64.
constexpr std::uint32_t kSocketsMax = 8;

// The five-tuple of a path: one of this process's sockets and one of the peer's ports. With k of
// each there are k * k different paths; the first k of them differ in both. On a host with several
// links the sockets have the links' addresses in turn, and a path stays on one link: with `links`
// of them (a divisor of k) there are k * k / links different paths.
struct Tuple {
  std::uint8_t socket = 0, port = 0;
};
constexpr Tuple tuple_of(std::uint8_t path, std::size_t sockets, std::size_t links = 1) {
  const std::size_t turn = path / sockets;
  return {static_cast<std::uint8_t>(path % sockets),
          static_cast<std::uint8_t>((path + turn * links) % sockets)};
}
// [path] its five-tuple to one peer.
using Tuples = std::vector<Tuple>;
inline Tuples round_of_links(std::uint32_t paths, std::size_t sockets, std::size_t links) {
  Tuples tuples;
  for (std::uint32_t path = 0; path < paths; ++path) {
    tuples.push_back(tuple_of(static_cast<std::uint8_t>(path), sockets, links));
  }
  return tuples;
}
// The least number of sockets, equal on all links, that gives each path a five-tuple.
constexpr std::uint32_t sockets_for(std::uint32_t paths, std::uint32_t links = 1) {
  std::uint32_t sockets = links;
  while (sockets * (sockets / links) < paths && sockets + links <= kSocketsMax) sockets += links;
  return sockets;
}
// The least number of sockets that gives 8 five-tuples for each path to choose from: with 4 equal
// routes between two hosts, one of them gets no five-tuple for one in 2500 pairs of hosts.
constexpr std::uint32_t sockets_to_choose_for(std::uint32_t paths) {
  constexpr std::uint32_t kTuplesPerPath = 8;
  return paths == 1 ? 1 : sockets_for(kTuplesPerPath * paths);
}

struct EndpointOptions {
  // Numeric IPv4 or IPv6; empty: choose_local_address("", "").
  std::string local_address;
  // Addresses of the host's other links: the sockets use all addresses in turn.
  std::vector<std::string> further_addresses = {};
  std::uint32_t paths = 1;  // sockets
  // 0: that of the interface, at most kMtuBytesDefaultMax.
  std::uint32_t mtu_bytes = 0;
  // 0: two trains or 1 ms of pace_mbit_s, whichever is more.
  std::uint32_t send_buffer_packets = 0;
  // Kernel memory, see packets_that_fit(). The endpoint warns if the kernel grants too little for
  // receive_packets_min.
  std::uint32_t receive_buffer_bytes = 4u << 20;
  std::uint32_t receive_packets_min = 128;
  // The rate of all links together, for pacing in user space where the kernel gives no
  // back-pressure; 0: no pacing.
  double pace_mbit_s = 0;
  // Pacing waits until exchanges have come at this rate (rate_claim.h): a file may be wrong.
  bool pace_when_seen = false;
  bool paces = true;  // false: exchanges are held against the rate, no more
  // What the same file says of this host's links, which may be faster; 0: as pace_mbit_s.
  double host_mbit_s = 0;
  std::uint32_t grain_packets = 1;  // longest train
  // The same from when the rate is refuted on; 0: as before.
  std::uint32_t refuted_grain_packets = 0;
  // An exchange of so few packets fits the queues on its route and need not be paced.
  std::uint32_t burst_packets = 0;
  bool allow_gso = true, allow_gro = true;
};

constexpr std::uint32_t kMtuBytesDefaultMax = 9000;  // loopback would offer 65536

// How many datagrams of `datagram_bytes` a socket buffer of `buffer_bytes` of kernel memory holds.
// Windows stay below that.
std::uint32_t packets_that_fit(std::uint32_t buffer_bytes, std::uint32_t datagram_bytes);

struct EndpointCounters {
  std::uint64_t datagrams_sent = 0, datagrams_received = 0;
  std::uint64_t send_calls = 0, receive_calls = 0, waits = 0;
  std::uint64_t trains_sent = 0;                  // UDP_SEGMENT sends
  std::uint64_t would_block = 0, no_buffers = 0;  // EAGAIN, ENOBUFS (local, not network loss)
  std::uint64_t paced = 0;                        // sends that the pacer delayed
  std::uint64_t receive_overflow = 0;             // SO_RXQ_OVFL
  std::uint64_t refused = 0;        // ICMP errors, and datagrams dropped because of an error
  std::uint64_t oversized = 0;      // EMSGSIZE: dropped, longer than the interface's MTU
  std::uint64_t truncated = 0;      // received longer than any buffer
  std::uint64_t gso_fallbacks = 0;  // destinations that take no trains
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

// The arguments of one block(): made under the caller's lock, used without it.
struct WaitPlan {
  base::Nanos timeout = 0;
  std::uint32_t sockets = 1;
  bool read = true;
  int write_fd = -1;
  bool write_timed = false;  // sending may go on after `timeout`
  int wake_fd = -1;
};

class Endpoint {
 public:
  static base::Result<std::unique_ptr<Endpoint>> open(const EndpointOptions& options);
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  Address local(std::uint32_t path = 0) const;
  std::uint32_t paths() const;  // sockets that are open
  // Opens more sockets, so that there are so many. They are used once listen() says so. Not while
  // another thread opens some.
  base::Status open_more(std::uint32_t count);
  // The first so many sockets are read, and all of them wake up who waits. Each one more costs.
  void listen(std::uint32_t count);
  std::uint32_t listening() const;
  std::uint32_t datagram_bytes() const;  // largest UDP payload of one packet on the interface
  // Kernel memory granted to each socket.
  std::uint32_t receive_buffer_bytes() const;
  std::vector<std::string> warnings() const;  // kernel buffers too small: the sysctl to set

  // So much has come in an exchange that took `time`; so much was sent that did not leave at once.
  void exchanged(std::uint64_t came, std::uint64_t waited, base::Nanos time);
  // Calls have shown that a rate on the way is too low. Whoever shows it, trains become longer.
  void refute_rate();
  // What both say of pace_mbit_s.
  const clocks::RateClaim& rate() const;

  // Sends in order until the kernel (or the pacer) takes no more; returns how many were taken. Runs
  // of datagrams of equal size to one destination go out as UDP_SEGMENT trains of up to
  // grain_packets.
  std::size_t send(base::Nanos now, std::span<const SendItem> items);

  // Whether, after a send() that took less than it was given, the caller can only wait for the
  // kernel's queue or the pacer. Reading may wait as long: in a symmetric exchange as much comes in
  // meanwhile as goes out.
  bool send_blocked() const;

  // How many packets to prepare ahead: what an empty send buffer takes at once.
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
