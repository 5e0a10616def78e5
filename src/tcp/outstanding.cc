#include "tcp/outstanding.h"

namespace alm::tcp {

void Outstanding::add(Position begin, std::uint32_t bytes, base::Nanos now) {
  sent_.push_back({.begin = begin, .at = now, .bytes = bytes, .flying = true});
  ++flying_;
}

void Outstanding::land(Sent& one) {
  if (one.flying) --flying_;
  one.flying = false;
}

void Outstanding::resend(Sent& one, base::Nanos now) {
  if (!one.flying) ++flying_;
  if (one.lost) --lost_;
  one.flying = true;
  one.lost = false;
  one.resent = true;
  one.at = now;
}

void Outstanding::sack(Sent& one) {
  if (one.sacked) return;
  land(one);
  if (one.lost) --lost_;
  one.lost = false;
  one.sacked = true;
  ++sacked_;
}

void Outstanding::lose(Sent& one) {
  if (one.lost || one.sacked) return;
  land(one);
  one.lost = true;
  ++lost_;
}

void Outstanding::pop() {
  Sent& one = sent_[first_];
  land(one);
  if (one.lost) --lost_;
  if (one.sacked) --sacked_;
  ++first_;
  if (first_ == sent_.size()) {
    first_ = 0;
    // Thousands of connections that are quiet now and then keep no memory.
    constexpr std::size_t kKept = 16;
    if (sent_.capacity() > kKept) {
      std::vector<Sent>().swap(sent_);
    } else {
      sent_.clear();
    }
  } else if (2 * first_ > sent_.size() && first_ > 64) {
    sent_.erase(sent_.begin(), sent_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }
}

}  // namespace alm::tcp
