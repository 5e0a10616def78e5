// How soon peers answer, and so how long a rank waits before it asks.
//
// Most acknowledgements ride on data that is sent anyway, and a peer may be late for reasons of its
// own. So the time from a packet to its acknowledgement is an upper bound of the round trip: it can
// only lower the estimate. Answers to probes, and to packets that show a gap, leave at once. They
// move the estimate by an eighth of the difference, as in RFC 6298; by how much they come later
// than the estimate is the time that hosts need to answer.
//
// A rank asks after twice the round trip and four times the delay of answers.
#pragma once

#include <algorithm>

#include "base/time.h"

namespace alm::clocks {

class AnswerTime {
 public:
  void carried(base::Nanos took) {
    took = std::max<base::Nanos>(1, took);
    round_trip_ = round_trip_ == 0 ? took : std::min(round_trip_, took);
  }
  void at_once(base::Nanos took) {
    carried(took);
    const base::Nanos late = took - round_trip_;
    round_trip_ += late / kPart;
    late_ += (late - late_) / kPart;
  }
  bool known() const { return round_trip_ > 0; }
  base::Nanos round_trip() const { return round_trip_; }
  // `least`: the shortest time that timers can keep.
  base::Nanos patience(base::Nanos least) const {
    return std::max(least, 2 * round_trip_ + 4 * late_);
  }

 private:
  static constexpr base::Nanos kPart = 8;
  base::Nanos round_trip_ = 0;
  base::Nanos late_ = 0;
};

}  // namespace alm::clocks
