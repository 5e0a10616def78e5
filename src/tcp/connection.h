// One end of a TCP connection that is established: what comes in are segments and the time, what
// goes out are segments and a deadline. No sockets, no clock, no bytes.
//
//   write()                 the program has more to send
//   wants_to_send(), next() a segment, when the link takes one; acknowledgements ride on data
//   received()              a segment has come
//   deadline(), on_timer()  the next time-out
#pragma once

#include <cstdint>

#include "tcp/config.h"
#include "tcp/receiver.h"
#include "tcp/segment.h"
#include "tcp/sender.h"

namespace alm::tcp {

class Connection {
 public:
  // `config` must outlive this.
  explicit Connection(const Config& config) : sender_(config), receiver_(config) {}

  // The handshake took so long.
  void established(base::Nanos round_trip) { sender_.established(round_trip); }
  void write(std::uint64_t bytes) { sender_.write(bytes); }
  bool wants_to_send() const { return receiver_.due() || sender_.may_send(); }
  // Precondition: wants_to_send().
  Segment next(base::Nanos now);
  void received(const Segment& segment, base::Nanos now);
  base::Nanos deadline() const;  // kNever: none
  void on_timer(base::Nanos now);

  const Sender& sender() const { return sender_; }
  const Receiver& receiver() const { return receiver_; }

 private:
  Sender sender_;
  Receiver receiver_;
};

}  // namespace alm::tcp
