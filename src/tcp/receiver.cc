#include "tcp/receiver.h"

#include <algorithm>

namespace alm::tcp {

using base::kNever;
using base::Nanos;

void Receiver::be_quick() {
  quick_ = config_->quick_acks;
  turns_ = false;
}

// A sender that begins again needs acknowledgements to open its window.
void Receiver::notice_pause(Nanos now) {
  if (last_came_ >= 0 && now - last_came_ > config_->rto_min) quick_ = config_->quick_acks;
  last_came_ = now;
}

void Receiver::note_mark(const Segment& data) {
  if (config_->control == Control::kDctcp) {
    if (data.marked == echo_) return;
    // What came before is acknowledged as it came.
    if (told_ < next_) early_ = Early{next_, echo_};
    echo_ = data.marked;
    owe();
    return;
  }
  if (data.reduced) echo_ = false;
  if (data.marked) echo_ = true;
}

void Receiver::take(const Segment& data, Nanos now) {
  notice_pause(now);
  if (config_->uses_ecn()) note_mark(data);
  if (data.end() <= next_) {
    ++duplicates_;
    twice_ = {data.begin, data.end()};
    be_quick();
    owe();
    return;
  }
  if (data.begin > next_) {
    take_apart(data);
    be_quick();
    owe();
    return;
  }
  take_in_order(data, now);
}

void Receiver::take_in_order(const Segment& data, Nanos now) {
  next_ = data.end();
  const bool had_hole = !apart_.empty();
  for (bool found = true; found;) {
    found = false;
    for (std::size_t i = 0; i < apart_.size(); ++i) {
      if (apart_[i].begin > next_) continue;
      next_ = std::max(next_, apart_[i].end);
      apart_.erase(apart_.begin() + static_cast<std::ptrdiff_t>(i));
      found = true;
      break;
    }
  }
  const bool quick = quick_ > 0 && !turns_;
  if (quick) --quick_;
  if (had_hole || quick || next_ - told_ > config_->segment_bytes) {
    owe();
  } else if (delayed_until_ == kNever) {
    delayed_until_ = now + config_->delayed_ack;
  }
}

void Receiver::take_apart(const Segment& data) {
  Range joined{data.begin, data.end()};
  for (const Range& known : apart_) {
    if (known.begin <= joined.begin && known.end >= joined.end) {
      ++duplicates_;
      twice_ = joined;
    }
  }
  std::erase_if(apart_, [&](const Range& known) {
    if (known.end < joined.begin || known.begin > joined.end) return false;
    joined = {std::min(known.begin, joined.begin), std::max(known.end, joined.end)};
    return true;
  });
  apart_.insert(apart_.begin(), joined);
}

void Receiver::acknowledge(Segment& out, bool alone) {
  if (early_) {
    out.ack = early_->ack;
    out.echo = early_->echo;
    told_ = early_->ack;
    early_.reset();
    return;
  }
  out.ack = told_ = next_;
  out.echo = echo_;
  out.sack_count = 0;
  if (config_->sack) {
    if (twice_.end > 0) {
      out.duplicate = true;
      out.sacks[out.sack_count++] = twice_;
      twice_ = {};
    }
    for (const Range& range : apart_) {
      if (out.sack_count == kSacksMax) break;
      out.sacks[out.sack_count++] = range;
    }
  }
  delayed_until_ = kNever;
  // Without SACK the sender counts those that come alone while there is a hole; else one tells
  // everything.
  if (config_->sack || apart_.empty()) {
    owed_ = 0;
  } else if (alone && owed_ > 0) {
    --owed_;
  }
}

void Receiver::data_sent(Nanos now) {
  if (last_came_ >= 0 && now - last_came_ < config_->delayed_ack) turns_ = true;
}

void Receiver::on_timer() {
  delayed_until_ = kNever;
  if (told_ < next_) owe();
}

}  // namespace alm::tcp
