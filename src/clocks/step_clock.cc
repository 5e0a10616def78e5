#include "clocks/step_clock.h"

namespace alm::clocks {

void StepClock::begin(base::Nanos now, const base::Rounds& rounds, std::uint64_t packets) {
  trains_ = rounds.trains;
  arrivals_ = rounds.arrivals;
  arrival_ = delivered_ = passed_delivered_ = 0;
  arrival_taken_ = delivered_taken_ = 0;
  arrival_clock_ = delivery_clock_ = 0;
  delivered_packets_ = late_packets_ = 0;
  last_step_ = 0;
  anchor_at_ = last_arrival_at_ = now;
  steps_ = rounds.steps;
  packets_ = packets;
}

bool StepClock::allows(base::Nanos now, std::uint64_t step, const UnderWay& under_way,
                       base::Nanos* wait_until) {
  if (step < arrival_clock_) return true;
  const base::Nanos at = time_of(step) - lead(under_way.window);
  if (now < at && !hurries_) {
    *wait_until = std::min(*wait_until, at);
    return false;
  }
  const std::uint64_t most = ahead_most(under_way.window);
  if (step < arrival_clock_ + most || under_way.unacknowledged == 0) return true;
  count_deliveries(under_way);
  return step < delivery_clock_ + most;
}

// Packets are acknowledged about in the order they were sent in.
void StepClock::count_deliveries(const UnderWay& under_way) {
  const std::uint64_t acknowledged = packets_ - under_way.to_send - under_way.unacknowledged;
  const std::uint64_t delivered = acknowledged - std::min(acknowledged, late_packets_);
  while (delivered_packets_ < delivered && delivered_ < trains_.size()) {
    if (passed_delivered_ < under_way.passed.size() &&
        under_way.passed[passed_delivered_] == delivered_) {
      ++passed_delivered_;
      ++delivered_;
      continue;
    }
    const base::Train& train = trains_[delivered_];
    const auto more = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(train.packets - delivered_taken_, delivered - delivered_packets_));
    delivered_taken_ += more;
    delivered_packets_ += more;
    delivery_clock_ = train.step + delivered_taken_;
    if (delivered_taken_ < train.packets) return;
    ++delivered_;
    delivered_taken_ = 0;
  }
}

}  // namespace alm::clocks
