// How soon peers answer: how long a rank waits before it asks.
//
// Most acknowledgements ride on data that is sent anyway, and a peer may be late for reasons of its
// own, so that the time from a packet to its acknowledgement is an upper bound of the way there and
// back: it makes what is known shorter, never longer. Answers to probes, and to what shows a gap,
// leave at once. They move what is known by an eighth of the difference, as in RFC 6298, and what
// they are later than that is the time hosts need to get round to it.
//
// A rank asks after two times the way and four times what answers are late.
#pragma once

#include <algorithm>

#include "base/time.h"

namespace alm::transport {

class AnswerTime {
 public:
  void carried(base::Nanos took) {
    took = std::max<base::Nanos>(1, took);
    way_ = way_ == 0 ? took : std::min(way_, took);
  }
  void at_once(base::Nanos took) {
    carried(took);
    const base::Nanos late = took - way_;
    way_ += late / kPart;
    late_ += (late - late_) / kPart;
  }
  bool known() const { return way_ > 0; }
  base::Nanos way() const { return way_; }
  // `least`: what timers can do.
  base::Nanos patience(base::Nanos least) const { return std::max(least, 2 * way_ + 4 * late_); }

 private:
  static constexpr base::Nanos kPart = 8;
  base::Nanos way_ = 0;
  base::Nanos late_ = 0;
};

}  // namespace alm::transport
