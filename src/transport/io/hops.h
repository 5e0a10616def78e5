// Finds which routers a five-tuple passes. A router at which a datagram's TTL runs out answers with
// ICMP "time exceeded"; the kernel keeps that in the socket's error queue (IP_RECVERR) with the
// addresses of the router and of the datagram's destination. If the datagram reaches a host, at a
// port where nobody listens, the host answers "port unreachable": there is no router at that hop.
// Traceroute works the same way; but here the datagrams use the sockets and ports of the data,
// because ECMP hashes these.
#pragma once

#include <time.h>
// <linux/errqueue.h> needs <time.h> before it.
#include <linux/errqueue.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/time.h"
#include "transport/io/address.h"

namespace alm::io {

constexpr std::uint16_t kDiscardPort = 9;  // a port at which nobody listens

// Whether an entry of the error queue is a host's "port unreachable".
bool is_refusal(const sock_extended_err& error);

// The question which router is so many hops away on the route of one five-tuple.
struct HopQuestion {
  std::uint8_t socket = 0;  // of this process
  Address to;               // with the port
  std::uint8_t hops = 1;
  std::uint32_t host = 0;  // number of the one it leads to
};

struct HopAnswer {
  std::uint8_t socket = 0;
  Address to;
  Address router;  // port 0; length 0: no router at that hop, the host answered
};

// Sends the datagram. False: the kernel takes none now.
bool send_to_hop(int fd, const Address& to, std::uint8_t hops);
// Empties the error queue of this socket; appends answers of routers and hosts to `out`.
void read_hops(int fd, std::uint8_t socket, std::vector<HopAnswer>& out);

// What is asked, and what is done with the answers. Sans-IO.
class HopAsker {
 public:
  virtual ~HopAsker() = default;
  virtual void begin(base::Nanos now) = 0;
  // The question to ask now; nothing: wait until deadline().
  virtual std::optional<HopQuestion> next(base::Nanos now) = 0;
  virtual void answered(const HopAnswer& answer) = 0;
  virtual bool done(base::Nanos now) const = 0;
  virtual base::Nanos deadline() const = 0;
};

}  // namespace alm::io
