// Which routers a five-tuple passes: a datagram whose TTL ends there is answered by the router with
// ICMP "time exceeded", which the kernel keeps in the socket's error queue (IP_RECVERR) with the
// address of the router and that of the datagram's destination. A host that it reaches, at a port
// where nobody listens, says so ("port unreachable"): there is no such router. As traceroute does
// it, but by the very sockets and ports that data takes, because these are what ECMP hashes.
#pragma once

#include <time.h>
// After what it does not include itself.
#include <linux/errqueue.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/time.h"
#include "transport/io/address.h"

namespace alm::io {

constexpr std::uint16_t kDiscardPort = 9;  // at which nobody listens

// What the error queue holds: a host has said that nobody listens at the port.
bool is_refusal(const sock_extended_err& error);

// Which router is so many hops away on the way of one five-tuple?
struct HopQuestion {
  std::uint8_t socket = 0;  // of this process
  Address to;               // with the port
  std::uint8_t hops = 1;
};

struct HopAnswer {
  std::uint8_t socket = 0;
  Address to;
  Address router;  // port 0; no length: it passed no router there, and its host refused it
};

// Sends the datagram. False: the kernel takes none now.
bool send_to_hop(int fd, const Address& to, std::uint8_t hops);
// Empties the error queue; answers of routers and hosts, of this socket, go to `out`.
void read_hops(int fd, std::uint8_t socket, std::vector<HopAnswer>& out);

// Questions that are asked again when no answer comes, a few of them under way at once, so that
// they fill no queue. Sans-IO.
class HopQuestions {
 public:
  static constexpr std::size_t kUnderWay = 16;
  static constexpr std::uint32_t kTries = 3;
  static constexpr std::uint32_t kPatiences = 20;

  // `patience`: how long an answer is waited for. After kPatiences of it all is over.
  HopQuestions(std::span<const HopQuestion> questions, base::Nanos now, base::Nanos patience);

  // To ask now; nothing: wait until deadline().
  std::optional<HopQuestion> next(base::Nanos now);
  void answered(const HopAnswer& answer);
  bool done(base::Nanos now) const { return now >= end_ || (queue_.empty() && asked_.empty()); }
  base::Nanos deadline() const;
  // [question] the router; no length: none has answered.
  const std::vector<Address>& routers() const { return routers_; }

 private:
  struct Asked {
    std::size_t question = 0;
    base::Nanos until = 0;
  };
  void expire(base::Nanos now);

  std::span<const HopQuestion> questions_;
  base::Nanos patience_, end_;
  std::vector<std::size_t> queue_;  // the last one is next
  std::vector<Asked> asked_;        // in the order of `until`
  std::vector<std::uint32_t> tries_;
  std::vector<Address> routers_;
};

}  // namespace alm::io
