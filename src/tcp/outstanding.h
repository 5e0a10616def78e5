// The segments that are sent and not acknowledged, in the order of the stream, and what is known
// of each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "tcp/segment.h"

namespace alm::tcp {

struct Sent {
  Position begin = 0;
  base::Nanos at = 0;  // when it was sent the last time
  std::uint32_t bytes = 0;
  bool flying = false;  // counts as being under way
  bool sacked = false;
  bool lost = false;    // its last transmission is taken for lost
  bool resent = false;  // more than once under way
  Position end() const { return begin + bytes; }
};

class Outstanding {
 public:
  bool empty() const { return first_ == sent_.size(); }
  std::size_t size() const { return sent_.size() - first_; }
  Sent& operator[](std::size_t place) { return sent_[first_ + place]; }
  const Sent& operator[](std::size_t place) const { return sent_[first_ + place]; }
  Sent& back() { return sent_.back(); }
  const Sent& front() const { return sent_[first_]; }
  std::uint32_t flying() const { return flying_; }
  std::uint32_t sacked() const { return sacked_; }
  std::uint32_t lost() const { return lost_; }

  void add(Position begin, std::uint32_t bytes, base::Nanos now);
  void resend(Sent& one, base::Nanos now);
  void sack(Sent& one);
  void lose(Sent& one);
  void land(Sent& one);  // it is not under way any more, for a reason that is not known
  void pop();            // the first one is acknowledged
  std::size_t bytes() const { return sent_.capacity() * sizeof(Sent); }

 private:
  std::vector<Sent> sent_;
  std::size_t first_ = 0;
  std::uint32_t flying_ = 0, sacked_ = 0, lost_ = 0;
};

}  // namespace alm::tcp
