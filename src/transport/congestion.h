// The window of the running exchange, and what losses make of it: whether they show that others are
// in the queues (clocks/crowd.h), and how the window yields then (clocks/yield.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/time.h"
#include "clocks/busy_link.h"
#include "clocks/climb.h"
#include "clocks/crowd.h"
#include "clocks/pipe.h"
#include "clocks/send_log.h"
#include "clocks/train_limit.h"
#include "clocks/trip_claim.h"
#include "clocks/yield.h"
#include "transport/config.h"

namespace alm::transport {

class Congestion {
 public:
  // `first`: the number of the exchange that begins with it.
  explicit Congestion(const Config& config, std::uint64_t first = 0)
      : yield_(config.seeks_from),
        other_(config.seeks_from),
        sends_(std::max(config.window_packets, config.burst_packets)),
        pipe_(config.idle_round_trip),
        climb_(config.link_time, first),
        trips_(2 * config.latency, config.refuted_window_packets > 0 ? config.limit_time : 0,
               config.timer_least),
        link_(config.limit_time, config.latency),
        link_time_(config.link_time),
        idle_round_trip_(config.idle_round_trip),
        wake_(config.timer_least / 2),
        yields_(config.yields),
        seeks_(config.seeks_from > 0),
        // Two ranks wake while the first window passes the link, or the link is the limit.
        climbs_(seeks_ && config.climbs &&
                config.seeks_from * config.link_time < 2 * config.timer_least),
        train_most_(config.train_packets_max) {}

  // An exchange begins with this window; `cycle` packets are sent between two turns of a partner.
  // `part`: what its packets take, of what full ones do.
  // `single`: it has the window of single packets, whose losses say nothing of the other one.
  void begin(base::Nanos now, std::uint32_t window, std::uint64_t cycle, double part,
             bool single = false) {
    sends_.clear();
    lossy_ = false;
    began_ = now;
    if (std::exchange(single_, single) != single) std::swap(yield_, other_);
    yield_.begin(window, cycle);
    crowd_.begin(link_.begin(part), cycle);
    pipe_.begin(now, cycle);
  }
  // It has sent everything. `number`: the same on all ranks, where all have sent as much.
  void end(base::Nanos now, const clocks::SeenTrips& seen,
           std::optional<std::uint64_t> number = std::nullopt) {
    was_lossy_ = lossy_;
    trains_.end();
    measure(now, false);
    if (number && !lossy_ && !yield_.yielding()) {
      trips_.exchanged(now - began_, sends_.count(), window(), seen);
    }
    if (!seeks_) return;
    if (const auto needs = pipe_.end(now, seen)) yield_.needs(*needs);
    // Ranks that answer as soon as kernels need no larger window than these show.
    const bool slow = seen.nearest >= idle_round_trip_ + wake_;
    if (!climbs_ || !number || !(slow || climb_.attempts())) return;
    const auto next = climb_.end({.number = *number,
                                  .took = now - began_,
                                  .packets = sends_.count(),
                                  .window = window(),
                                  .most = yield_.asked(),
                                  .lossy = lossy_,
                                  .cut = yield_.was_cut()});
    // What losses have made of an attempt stays.
    if (next && (*next < window() || !yield_.was_cut())) yield_.set(*next);
  }
  void forget() {
    yield_.forget();
    other_.forget();
  }

  // A packet was sent for the first time.
  void sent(base::Nanos now, PeerId peer, std::uint32_t packet, const clocks::SeenTrips& seen) {
    sends_.add(now, peer, packet);
    yield_.sent();
    crowd_.sent();
    if (!seeks_) return;
    if (const auto needs = pipe_.sent(now, window(), seen)) yield_.needs(*needs);
  }
  // The exchange resends a packet, or has seen a hole.
  void saw_loss() { lossy_ = true; }
  void answered(base::Nanos took) { crowd_.answered(took); }
  // A packet was lost. `sending`: more is to be sent. True: that has cut the window.
  bool lost(base::Nanos now, bool sending) {
    if (!yields_) return false;
    measure(now, sending);
    // What the exchange loses by itself needs a shorter queue, but no idle link.
    return yield_.lost(crowded() ? 1 : link_.safe_window(yield_.asked()), soon());
  }

  std::uint32_t window() const { return yield_.window(); }
  bool yielding() const { return yield_.yielding(); }
  // Packets that go to one partner at once; the same after a loss.
  std::uint32_t begin_trains(std::uint32_t least) {
    return trains_.begin(climb_.train(window(), least, train_most_));
  }
  std::uint32_t shorten_trains(PeerId peer, std::uint32_t packet) {
    return trains_.lost(peer, packet, sends_.count());
  }
  bool lossy() const { return lossy_; }
  bool was_lossy() const { return was_lossy_; }  // the exchange before
  // Whether exchanges have shown that peers are farther away than the cluster file says.
  bool refutes_trips() const { return !seeks_ && trips_.refuted(); }
  bool take_question() { return !seeks_ && trips_.take_question(); }
  bool loses_alone() const { return lossy_ && !crowded(); }
  const clocks::SendLog& sends() const { return sends_; }

 private:
  // What this rank gets of the link, by what it has sent last.
  void measure(base::Nanos now, bool sending) {
    const std::uint32_t full = yield_.full();
    const auto spacing = sends_.spacing(sending ? now : sends_.latest(), full);
    if (spacing && link_.known()) crowd_.measured(*spacing, window(), link_.busy_window(full));
  }
  // Within two idle round trips, or two windows on the host's link.
  bool soon() const {
    const base::Nanos passes = std::max(yield_.full(), yield_.open_window()) * link_time_;
    return link_time_ > 0 && crowd_.soon(2 * std::max(idle_round_trip_, passes));
  }
  bool crowded() const { return crowd_.crowded(link_.own_round_trip(yield_.full())); }

  clocks::Yield yield_, other_;  // of exchanges like the running one; of the others
  bool single_ = false;
  clocks::SendLog sends_;
  clocks::Crowd crowd_;
  clocks::Pipe pipe_;
  clocks::Climb climb_;
  clocks::TrainLimit trains_;
  clocks::TripClaim trips_;
  clocks::BusyLink link_;
  base::Nanos link_time_, idle_round_trip_, wake_;
  bool yields_, seeks_, climbs_;
  std::uint32_t train_most_;
  base::Nanos began_ = 0;
  bool lossy_ = false, was_lossy_ = false;
};

}  // namespace alm::transport
