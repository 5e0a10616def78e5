#include "tcp/connection.h"

#include <algorithm>

namespace alm::tcp {

Segment Connection::next(base::Nanos now) {
  Segment out;
  if (sender_.may_send() && !receiver_.must_go_alone()) {
    out = sender_.next(now);
    receiver_.acknowledge(out, false);
    receiver_.data_sent(now);
  } else {
    receiver_.acknowledge(out, true);
  }
  return out;
}

void Connection::received(const Segment& segment, base::Nanos now) {
  sender_.acknowledged(segment, now);
  if (segment.bytes > 0) receiver_.take(segment, now);
}

base::Nanos Connection::deadline() const {
  return std::min(sender_.deadline(), receiver_.deadline());
}

void Connection::on_timer(base::Nanos now) {
  if (sender_.deadline() <= now) sender_.on_timer(now);
  if (receiver_.deadline() <= now) receiver_.on_timer();
}

}  // namespace alm::tcp
