// How long the timers of a rank run (engine.h lists them). They count cycles of the schedule as the
// exchange really runs, J, which is what exchanges take longer than their packets need, and the
// time that peers take to answer (clocks/answer_time.h).
//
// Where what a packet takes is a guess, it may be much too long: then no exchange takes as long as
// its packets. What they take in the mean of the last exchanges counts instead, but never more than
// the guess, or losses would make timers longer, and timers exchanges, without end.
//
// `yields` says whether the window yields to others: what is lost in others' queues is to be found
// soon, and what exchanges take longer there is no skew.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/time.h"
#include "clocks/answer_time.h"
#include "transport/config.h"

namespace alm::transport {

// What an exchange takes if nothing delays it.
struct NominalTimes {
  base::Nanos cycle = 0;     // between two turns of a partner
  base::Nanos total = 0;     // its packets on the host link
  std::uint64_t cycles = 1;  // in the exchange
};

class Delays {
 public:
  // A guess of what a packet takes may be so many times too short.
  static constexpr base::Nanos kBears = 16;

  explicit Delays(const Config& config)
      : jitter_(config.timer_jitter),
        jitter_least_(config.timer_jitter),
        jitter_most_(config.timer_jitter_max),
        round_trip_(config.round_trip),
        least_(config.timer_least),
        idle_ack_(config.idle_ack_delay),
        idle_probe_(config.idle_probe_delay),
        keep_alive_(config.keep_alive),
        guessed_(!config.knows_rate) {}

  void begin(base::Nanos now, const NominalTimes& nominal) {
    nominal_ = nominal;
    guess_ = nominal.total;
    nominal_.cycle = part_of(nominal.cycle);
    nominal_.total = part_of(nominal.total);
    cycle_ = nominal_.cycle;
    started_ = last_wrap_ = now;
  }
  // A cycle is over. An oversubscribed uplink stretches cycles, but one stalled cycle must not
  // stretch them without end.
  void wrapped(base::Nanos now) {
    const base::Nanos sample = std::min(now - last_wrap_, kBears * nominal_.cycle);
    cycle_ = std::max(nominal_.cycle, cycle_ + (sample - cycle_) / 4);
    last_wrap_ = now;
  }
  // The exchange is over, and nothing but skew has delayed it.
  void measure_jitter(base::Nanos now) {
    const base::Nanos excess = std::max<base::Nanos>(0, now - started_ - nominal_.total) /
                               static_cast<base::Nanos>(nominal_.cycles);
    const base::Nanos smoothed = jitter_ + (std::min(excess, jitter_most_) - jitter_) / 4;
    jitter_ = std::max(jitter_least_, smoothed);
  }
  // The exchange is over, and no block was withheld.
  void measure_packets(base::Nanos now) {
    constexpr double kWeight = 1.0 / 8;
    if (!guessed_ || guess_ == 0) return;
    const auto took = static_cast<double>(now - started_) / static_cast<double>(guess_);
    part_ += (std::min(1.0, took) - part_) * kWeight;
  }
  // What a packet takes is a guess from now on.
  void guess_packets() { guessed_ = true; }
  clocks::AnswerTime& answers() { return answers_; }
  const clocks::AnswerTime& answers() const { return answers_; }

  base::Nanos cycle() const { return cycle_; }
  base::Nanos ack(bool running, bool yields) const {
    return running ? cycle_ + 2 * allowance(yields) : cycle_ + idle_ack_;
  }
  // The shortest time after which a sender asks without an estimate of the round trip.
  base::Nanos probe_least(bool yields) const {
    return round_trip_ + 2 * cycle_ + 4 * allowance(yields);
  }
  base::Nanos probe(bool running, bool yields) const {
    return running ? probe_least(yields) : round_trip_ + 4 * cycle_ + idle_probe_;
  }
  base::Nanos await(bool yields) const { return round_trip_ + 3 * cycle_ + 6 * allowance(yields); }
  // How long an answer is waited for. `answered_in`: how soon this peer answers; 0: not known.
  base::Nanos patience(base::Nanos answered_in) const {
    return std::max(answers_.patience(least_), 2 * answered_in);
  }
  // A peer that asks is asked back if nothing was sent to it for so long.
  base::Nanos ask_back(base::Nanos answered_in) const {
    const base::Nanos wait = round_trip_ + cycle_;
    if (!answers_.known()) return wait;
    return std::min(wait, std::max(answers_.round_trip(), answered_in));
  }
  // Doubles `first` for each unanswered probe, up to the keep-alive.
  base::Nanos backed_off(base::Nanos first, std::uint8_t unanswered) const {
    return std::min(first << unanswered, std::max(first, keep_alive_));
  }
  // When the peers are looked at next, at the earliest: of two of them for each packet, so that
  // many peers do not cost more than the packets.
  base::Nanos look(std::size_t peers, base::Nanos packet_time, bool yields) const {
    constexpr base::Nanos kLooksPerPacket = 2;
    if (!answers_.known()) return probe_least(yields);
    const base::Nanos looks = static_cast<base::Nanos>(peers) * packet_time / kLooksPerPacket;
    return std::min(probe_least(yields), std::max(looks, answers_.patience(least_)));
  }

 private:
  base::Nanos part_of(base::Nanos time) const {
    return std::llround(static_cast<double>(time) * part_);
  }
  base::Nanos allowance(bool yields) const {
    constexpr base::Nanos kPart = 4;
    if (!yields) return jitter_;
    return std::min(jitter_, std::max(jitter_least_, cycle_ / kPart));
  }

  base::Nanos cycle_ = 0;  // measured, at least the nominal one
  base::Nanos jitter_;     // J
  clocks::AnswerTime answers_;
  base::Nanos jitter_least_, jitter_most_, round_trip_, least_, idle_ack_, idle_probe_, keep_alive_;
  bool guessed_;
  double part_ = 1;        // of the guess: what packets take
  base::Nanos guess_ = 0;  // of what this exchange takes if nothing delays it
  NominalTimes nominal_;
  base::Nanos started_ = 0, last_wrap_ = 0;
};

}  // namespace alm::transport
