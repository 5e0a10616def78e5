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

// Asks questions, a few at once so that they fill no queue, and repeats those without an answer.
// Sans-IO.
class HopQuestions {
 public:
  static constexpr std::size_t kUnderWay = 16;
  static constexpr std::uint32_t kTries = 3;
  static constexpr std::uint32_t kPatiences = 20;

  // `patience`: how long to wait for an answer. All questions end after kPatiences times that.
  HopQuestions(std::span<const HopQuestion> questions, base::Nanos now, base::Nanos patience);

  // The question to ask now; nothing: wait until deadline().
  std::optional<HopQuestion> next(base::Nanos now);
  void answered(const HopAnswer& answer);
  bool done(base::Nanos now) const { return now >= end_ || (queue_.empty() && asked_.empty()); }
  base::Nanos deadline() const;
  // [question] the router; length 0: none has answered.
  const std::vector<Address>& routers() const { return routers_; }

 private:
  struct Asked {
    std::size_t question = 0;
    base::Nanos until = 0;
  };
  void expire(base::Nanos now);

  std::span<const HopQuestion> questions_;
  base::Nanos patience_, end_;
  std::vector<std::size_t> queue_;  // questions to ask, the next one last
  std::vector<Asked> asked_;        // in the order of `until`
  std::vector<std::uint32_t> tries_;
  std::vector<Address> routers_;
};

}  // namespace alm::io
