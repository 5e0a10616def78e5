// One rank's part of an experiment, without sockets or clocks: the carrier asks what is to be sent
// now, tells what has come, and calls again when the deadline is reached.
//
// A paced flow has a due time for each train, from its start on, however late the ones before went
// out: the average pace is kept. Of flows that are due the one that has waited longest goes first;
// flows without a pace take turns. Answers to echoes go before everything else. An echo that waits
// for all its answers in vain gives all of them up.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "probe/experiment.h"
#include "probe/header.h"

namespace alm::probe {

struct Outgoing {
  std::uint32_t to = 0;
  std::uint32_t bytes = 0;
  Header header;  // `sent` of what is no answer is filled in by the carrier, when it sends
};

class Rank {
 public:
  // The experiment has been checked and outlives this.
  Rank(const Experiment& experiment, std::uint32_t self);

  // What is to be sent now, the same until sent() is called. To be called at the deadline even if
  // nothing will be due: watches look at the clock here.
  std::optional<Outgoing> next(Nanos now);
  // What next() returned was given to the carrier and taken by it.
  void sent(Nanos at, Nanos until);
  // One of this rank's packets, sent before, left the host's queue at `at`: the earliest counts.
  void left(const Header& header, Nanos at);
  // A packet of any rank. `at`: come to the host; `seen`: handed over now.
  void received(const Header& header, Nanos at, Nanos seen);
  // When to call next(), if nothing comes before; base::kNever: not at all.
  Nanos deadline() const;

  Log& log() { return log_; }

 private:
  struct Sending {
    std::uint32_t flow = 0;
    std::uint32_t number = 0;  // of the next packet
    Nanos due = 0;
    std::uint32_t answered = 0;  // of an echo, those given up included
  };

  const Flow& flow_of(const Sending& sending) const { return experiment_.flows[sending.flow]; }
  bool ended(const Sending& sending) const { return sending.number >= flow_of(sending).packets; }
  void look_at_clock(Nanos now);

  const Experiment& experiment_;
  std::uint32_t self_;
  std::vector<Sending> sendings_;
  std::deque<Header> answers_;
  std::optional<std::size_t> chosen_;  // of sendings_; sendings_.size(): the first answer
  std::vector<Watch> watches_;
  Nanos looked_ = -1;  // at the clock, by a watch
  Log log_;
};

}  // namespace alm::probe
