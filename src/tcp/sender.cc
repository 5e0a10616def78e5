#include "tcp/sender.h"

#include <algorithm>

namespace alm::tcp {

using base::kNever;
using base::Nanos;

namespace {

constexpr std::uint32_t kThreshold = 3;  // segments that have come later, or repetitions

}  // namespace

// ---- sending -----------------------------------------------------------------------------------

bool Sender::may_send() const {
  if (probe_due_) return true;
  if (outstanding_.lost() == 0 && !new_data_left()) return false;
  if (head_due_) return true;
  return under_way() < (state_ == State::kRecovery ? allowed_ : window_.segments());
}

// RFC 6675's pipe. Without SACK each repetition is a segment that has come.
std::uint32_t Sender::under_way() const {
  const std::uint32_t flying = outstanding_.flying();
  return config_->sack ? flying : flying - std::min(flying, repeated_);
}

Segment Sender::next(Nanos now) {
  const bool idle = outstanding_.empty();
  if (idle && config_->idle_restart && last_sent_ > 0) {
    const Nanos timeout = round_trip_.timeout(*config_, backoff_);
    const Nanos quiet = now - last_sent_;
    if (quiet > timeout) window_.rest(quiet, timeout, config_->initial_window);
  }
  if (idle) quiet_since_ = now;
  const bool probes = probe_due_;
  probe_due_ = false;
  Segment out;
  if (probes && !new_data_left()) {
    out = send_again(outstanding_.back(), now);
  } else if (!probes && outstanding_.lost() > 0) {
    std::size_t place = 0;
    while (!outstanding_[place].lost) ++place;
    out = send_again(outstanding_[place], now);
    head_due_ = false;
  } else {
    out = send_new(now);
  }
  last_sent_ = now;
  ++gone_;
  most_ = std::max(most_, outstanding_.flying());
  full_ = full_ || outstanding_.flying() >= window_.segments();
  arm(now);
  return out;
}

Segment Sender::send_new(Nanos now) {
  Segment out;
  out.begin = next_;
  out.bytes =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(config_->segment_bytes, written_ - next_));
  out.wants_marks = config_->uses_ecn();
  out.reduced = reduced_due_;
  reduced_due_ = false;
  outstanding_.add(next_, out.bytes, now);
  next_ = out.end();
  ++counters_.segments;
  return out;
}

// Not to be marked (RFC 3168, 6.1.5), but for DCTCP's.
Segment Sender::send_again(Sent& one, Nanos now) {
  Segment out;
  out.begin = one.begin;
  out.bytes = one.bytes;
  out.resent = true;
  out.wants_marks = config_->control == Control::kDctcp;
  outstanding_.resend(one, now);
  ++counters_.segments;
  ++counters_.resent;
  return out;
}

// ---- acknowledgements --------------------------------------------------------------------------

void Sender::acknowledged(const Segment& with, Nanos now) {
  News news;
  take_cumulative(with.ack, now, news);
  if (config_->sack) take_sacks(with, now, news);
  if (news.acknowledged > 0) {
    quiet_since_ = now;
    backoff_ = 0;
  }
  if (probe_due_ && (news.acknowledged > 0 || news.sacked > 0)) {
    probe_due_ = false;  // it still waits for the link, and is not needed any more
    probe_end_ = 0;
  }
  take_marks(with, news);
  end_probe(with);
  if (state_ != State::kOpen && first_ >= recover_) end_recovery();
  grow(news, now);
  find_losses(with, news, now);
  arm(now);
}

void Sender::take_cumulative(Position ack, Nanos now, News& news) {
  while (!outstanding_.empty() && outstanding_.front().end() <= ack) {
    const Sent one = outstanding_.front();
    if (!one.sacked) {
      delivered(one, now, news);
      ++news.fresh;
    }
    ++news.acknowledged;
    news.advanced += one.bytes;
    outstanding_.pop();
    first_ = one.end();
  }
}

void Sender::take_sacks(const Segment& with, Nanos now, News& news) {
  for (std::uint32_t i = with.duplicate ? 1 : 0; i < with.sack_count; ++i) {
    const Range range = with.sacks[i];
    for (std::size_t place = 0; place < outstanding_.size(); ++place) {
      Sent& one = outstanding_[place];
      if (one.begin >= range.end) break;
      if (one.sacked || one.begin < range.begin || one.end() > range.end) continue;
      delivered(one, now, news);
      outstanding_.sack(one);
      ++news.sacked;
    }
  }
}

// One that has come, seen for the first time. The first such one of an acknowledgement was sent
// first: its round trip holds the receiver's delay.
void Sender::delivered(const Sent& one, Nanos now, News& news) {
  ++news.delivered;
  const Nanos trip = now - one.at;
  if (!one.resent && !news.measured) {
    round_trip_.measure(trip);
    news.measured = true;
  }
  // If a segment was sent twice, what has come may be its first transmission.
  if (one.resent && trip < round_trip_.least()) return;
  if (one.at > rack_at_ || (one.at == rack_at_ && one.end() > rack_end_)) {
    rack_at_ = one.at;
    rack_end_ = one.end();
    rack_round_trip_ = trip;
  }
}

void Sender::take_marks(const Segment& with, const News& news) {
  if (!config_->uses_ecn()) return;
  round_acknowledged_ += news.advanced;
  if (with.echo) round_marked_ += news.advanced;
  if (with.echo && first_ > marks_end_ && state_ == State::kOpen) {
    window_.marked();
    ++counters_.cuts;
    marks_end_ = next_;
    reduced_due_ = true;
  }
}

// The probe was in vain if the receiver had everything; if it filled a hole, the hole was a loss.
void Sender::end_probe(const Segment& with) {
  if (probe_end_ == 0 || first_ < probe_end_) return;
  if (!probe_was_new_ && !with.duplicate && state_ == State::kOpen) {
    window_.lost();
    ++counters_.cuts;
  }
  probe_end_ = 0;
}

void Sender::grow(const News& news, Nanos now) {
  const bool closed = first_ >= round_end_;
  if (state_ != State::kRecovery && news.acknowledged > 0) {
    // A window that is not used does not open; in slow start it may get twice as large as what was.
    const bool used = full_ || (window_.in_slow_start() && window_.segments() < 2 * most_);
    const bool marks = config_->uses_ecn() && marks_end_ > first_;
    if (used && !marks) window_.acknowledged(news.fresh, now, round_trip_.smoothed());
  }
  if (!closed) return;
  round_end_ = next_;
  full_ = outstanding_.flying() >= window_.segments();
  most_ = outstanding_.flying();
  if (config_->control == Control::kDctcp) {
    window_.weigh_marks(round_acknowledged_, round_marked_);
    round_acknowledged_ = round_marked_ = 0;
  }
}

// ---- losses ------------------------------------------------------------------------------------

void Sender::find_losses(const Segment& with, const News& news, Nanos now) {
  const std::uint32_t before = outstanding_.lost();
  if (!config_->sack) {
    find_without_sack(with, news);
  } else if (news.acknowledged > 0 || news.sacked > 0) {
    find_by_count();
    if (config_->rack) find_by_time(now);
  }
  const bool more = outstanding_.lost() > before;
  if (more) enter_recovery();
  if (state_ == State::kRecovery) pace_recovery(news, more);
}

void Sender::pace_recovery(const News& news, bool lost_more) {
  const bool repeats = !config_->sack && news.acknowledged == 0;
  const std::uint32_t delivered = repeats ? 1 : news.delivered;
  come_ += delivered;
  const std::uint32_t threshold = window_.segments(), now = under_way();
  std::uint32_t more = 0;
  if (now > threshold) {
    const std::uint32_t due = (come_ * threshold + flight_ - 1) / flight_;
    more = due > gone_ ? due - gone_ : 0;
  } else {
    more = std::max(come_ > gone_ ? come_ - gone_ : 0, delivered);
    if (news.acknowledged > 0 && !lost_more) ++more;
    more = std::min(more, threshold - now);
  }
  allowed_ = now + more;
}

// Three that have come were sent later. One that is sent again counts as sent at its place in the
// stream, so that it is not taken for lost twice.
void Sender::find_by_count() {
  if (outstanding_.sacked() < kThreshold) return;
  std::uint32_t above = outstanding_.sacked();
  for (std::size_t place = 0; place < outstanding_.size() && above >= kThreshold; ++place) {
    Sent& one = outstanding_[place];
    if (one.sacked) {
      --above;
    } else if (one.flying && !one.resent) {
      outstanding_.lose(one);
    }
  }
}

void Sender::find_by_time(Nanos now) {
  reordering_at_ = kNever;
  if (rack_at_ < 0) return;
  const bool sure = outstanding_.sacked() >= kThreshold || state_ != State::kOpen;
  const Nanos slack = sure ? 0 : round_trip_.least() / 4;
  for (std::size_t place = 0; place < outstanding_.size(); ++place) {
    Sent& one = outstanding_[place];
    if (!one.flying) continue;
    const bool earlier = one.at < rack_at_ || (one.at == rack_at_ && one.end() < rack_end_);
    if (!earlier) continue;
    const Nanos due = one.at + rack_round_trip_ + slack;
    if (due <= now) {
      outstanding_.lose(one);
    } else {
      reordering_at_ = std::min(reordering_at_, due);
    }
  }
}

void Sender::find_without_sack(const Segment& with, const News& news) {
  if (news.acknowledged > 0) {
    // Each of the repetitions was a segment that had come.
    repeated_ -= std::min(repeated_, news.acknowledged - 1);
    if (state_ == State::kOpen) repeated_ = 0;
    if (state_ == State::kRecovery && !outstanding_.empty()) {
      outstanding_.lose(outstanding_[0]);
      head_due_ = true;
    }
    return;
  }
  const bool repeats = with.bytes == 0 && with.ack == first_ && !outstanding_.empty();
  if (!repeats || state_ == State::kTimeout) return;
  ++repeated_;
  if (repeated_ == kThreshold && state_ == State::kOpen) outstanding_.lose(outstanding_[0]);
}

void Sender::enter_recovery() {
  if (state_ != State::kOpen) return;
  state_ = State::kRecovery;
  recover_ = next_;
  head_due_ = true;
  probe_end_ = 0;
  flight_ = std::max(1u, static_cast<std::uint32_t>(outstanding_.size()));
  come_ = gone_ = 0;
  allowed_ = 0;
  if (config_->uses_ecn() && marks_end_ > first_) return;  // marks have cut it already
  window_.lost();
  ++counters_.cuts;
}

void Sender::end_recovery() {
  state_ = State::kOpen;
  repeated_ = 0;
  head_due_ = false;
}

// ---- timers ------------------------------------------------------------------------------------

void Sender::arm(Nanos now) {
  timer_ = Timer::kNone;
  deadline_ = kNever;
  if (outstanding_.empty()) {
    reordering_at_ = kNever;
    return;
  }
  timer_ = Timer::kTimeout;
  deadline_ = quiet_since_ + round_trip_.timeout(*config_, backoff_);
  if (reordering_at_ < deadline_) {
    timer_ = Timer::kReordering;
    deadline_ = std::max(reordering_at_, now);
    return;
  }
  const bool probes = config_->rack && config_->sack && state_ == State::kOpen && probe_end_ == 0 &&
                      outstanding_.sacked() == 0 && round_trip_.known() && backoff_ == 0;
  if (!probes) return;
  const Nanos delay = outstanding_.size() == 1 ? config_->rto_min : config_->probe_slack;
  const Nanos at = std::max(last_sent_, quiet_since_) + 2 * round_trip_.smoothed() + delay;
  timer_ = Timer::kProbe;
  deadline_ = std::max(std::min(at, deadline_), now);
}

void Sender::on_timer(Nanos now) {
  switch (timer_) {
    case Timer::kNone:
      return;
    case Timer::kTimeout:
      time_out(now);
      break;
    case Timer::kProbe:
      if (now - quiet_since_ >= config_->rto_min) ++counters_.waits;
      send_probe();
      quiet_since_ = now;
      break;
    case Timer::kReordering: {
      const std::uint32_t before = outstanding_.lost();
      find_by_time(now);
      if (outstanding_.lost() > before) enter_recovery();
      break;
    }
  }
  arm(now);
}

void Sender::send_probe() {
  ++counters_.probes;
  probe_due_ = true;
  probe_was_new_ = new_data_left();
  probe_end_ = next_;
  if (probe_was_new_) {
    probe_end_ += std::min<std::uint64_t>(config_->segment_bytes, written_ - next_);
  }
}

void Sender::time_out(Nanos now) {
  ++counters_.timeouts;
  ++counters_.waits;
  if (backoff_ == 0) ++counters_.cuts;
  for (std::size_t place = 0; place < outstanding_.size(); ++place) {
    outstanding_.lose(outstanding_[place]);
  }
  window_.timed_out();
  state_ = State::kTimeout;
  recover_ = next_;
  repeated_ = 0;
  probe_due_ = head_due_ = false;
  probe_end_ = 0;
  reordering_at_ = kNever;
  quiet_since_ = now;
  ++backoff_;
}

}  // namespace alm::tcp
