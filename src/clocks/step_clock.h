// When the packet of a step may be sent, in an exchange in the steps of a schedule that was made
// for blocks of different sizes (plan/uneven.h). In a step a rank sends one packet or none, and
// every port is loaded evenly, if the ranks keep to the steps.
//
// Where all steps are used, the link itself and the receive clock see to that: what has come shows
// how far the others are (000 Alg 2). Here a rank that idles would run ahead. A packet of step s is
// sent at once where others are known to be beyond s; else not before its time, which is counted in
// packet times from what this rank sent last, less a short lead; and not far beyond what has come
// or has been acknowledged, unless nothing is outstanding. As all keep to the time, queues stay
// short even then: that bound is for a network that is slower than it is said to be. What is lost
// takes time from what follows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/rounds.h"
#include "base/time.h"

namespace alm::clocks {

class StepClock {
 public:
  // `packet_time`: of a full frame on the host link; `round_trip`: to the farthest peer, 0: not
  // known. `burst`: of a rank that is paced; nothing: it is not.
  StepClock(base::Nanos packet_time, base::Nanos round_trip, std::optional<std::uint32_t> burst)
      : packet_time_(packet_time), round_trip_(round_trip), burst_(burst) {}

  // Later exchanges wait for no step's time.
  void hurry(bool hurries) { hurries_ = hurries; }
  // An exchange begins, in which this rank sends so many packets. `rounds` must outlive it.
  void begin(base::Nanos now, const base::Rounds& rounds, std::uint64_t packets);
  void end() { trains_ = arrivals_ = {}; }

  // A packet has come.
  void came() {
    if (arrival_ == arrivals_.size()) return;
    const base::Train& arrival = arrivals_[arrival_];
    arrival_clock_ = arrival.step + ++arrival_taken_;
    if (arrival_taken_ < arrival.packets) return;
    ++arrival_;
    arrival_taken_ = 0;
  }
  void came_at(base::Nanos now) { last_arrival_at_ = now; }
  // When something is to come, as far as this rank knows the time.
  base::Nanos next_arrival_at() const {
    if (arrival_ >= arrivals_.size()) return last_arrival_at_;
    return std::max(last_arrival_at_, time_of(arrivals_[arrival_].step + arrival_taken_));
  }

  // What is under way when a step is asked for.
  struct UnderWay {
    std::uint32_t window = 0;
    std::uint64_t to_send = 0, unacknowledged = 0;  // packets of the exchange
    std::span<const std::size_t> passed;            // trains that were passed over, in order
  };
  // Whether the packet of this step may be sent now. If only its time is not there, `wait_until`
  // becomes no later than that.
  bool allows(base::Nanos now, std::uint64_t step, const UnderWay& under_way,
              base::Nanos* wait_until);
  // Whether to ask for an acknowledgement with the packet of this step: if nothing arrives that
  // lets this rank send on, acknowledgements must.
  bool runs_ahead(std::uint64_t step, std::uint32_t window) const {
    return step >= arrival_clock_ + ahead_most(window) / 2;
  }
  // The packet of this step was sent.
  void sent(base::Nanos now, std::uint64_t step, std::uint32_t window) {
    last_step_ = step;
    const base::Nanos late = now - time_of(step) - lead(window) / 2 - kTimerSlack;
    if (late > 0) anchor_at_ += late;
  }
  std::uint64_t last_step() const { return last_step_; }  // in which this rank sent

  // The step that a packet of a late train may take: one this rank would idle in, or else that of
  // the packet that is to follow.
  std::uint64_t idle_step(base::Nanos now, std::uint64_t following) const {
    const base::Nanos passed = std::max<base::Nanos>(0, now - anchor_at_);
    return std::min(following,
                    std::max(last_step_ + 1, static_cast<std::uint64_t>(passed / packet_time_)));
  }
  void late_sent(std::uint64_t step, std::uint64_t following) {
    ++late_packets_;
    if (step == following) anchor_at_ += packet_time_;
    last_step_ = step;
  }
  // A packet was sent again: all that follows is so much later.
  void resent() { anchor_at_ += static_cast<base::Nanos>(steps_ / packets_) * packet_time_; }

 private:
  // Timers are late; so much of it is made good at once.
  static constexpr base::Nanos kTimerSlack = 50 * base::kMicrosecond;
  // Steps beyond what is known to have come, in windows and at least.
  static constexpr std::uint64_t kAheadWindows = 4;
  static constexpr std::uint64_t kAheadMin = 128;

  base::Nanos time_of(std::uint64_t step) const {
    return anchor_at_ + static_cast<base::Nanos>(step) * packet_time_;
  }
  base::Nanos lead(std::uint32_t window) const {
    return static_cast<base::Nanos>(burst_.value_or(window)) * packet_time_ / 2;
  }
  // What far peers know of each other is as old as the route between them is long.
  std::uint64_t ahead_most(std::uint32_t window) const {
    return std::max(kAheadMin, kAheadWindows * std::uint64_t{window}) +
           static_cast<std::uint64_t>(round_trip_ / packet_time_);
  }
  void count_deliveries(const UnderWay& under_way);

  base::Nanos last_arrival_at_ = 0;
  std::span<const base::Train> trains_, arrivals_;
  std::size_t arrival_ = 0, delivered_ = 0;
  std::uint32_t arrival_taken_ = 0, delivered_taken_ = 0;
  // 1 + the step of the latest packet that has come; of the latest one known to be delivered.
  std::uint64_t arrival_clock_ = 0, delivery_clock_ = 0;
  std::uint64_t delivered_packets_ = 0;
  std::size_t passed_delivered_ = 0;  // so many of the trains passed over are behind that clock
  std::uint64_t late_packets_ = 0;    // sent of late trains
  std::uint64_t last_step_ = 0;
  base::Nanos anchor_at_ = 0;  // the time of step 0; moved when this rank falls behind
  std::uint64_t steps_ = 0, packets_ = 0;
  base::Nanos packet_time_, round_trip_;
  std::optional<std::uint32_t> burst_;
  bool hurries_ = false;
};

}  // namespace alm::clocks
