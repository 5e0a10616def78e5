// One rank's part of an experiment, without sockets or clocks: the runner asks what is to be sent
// now, reports what has come, and calls again when the deadline is reached.
//
// Each train of a paced flow has a due time that does not depend on when the trains before it left:
// the average pace is kept. Among flows that are due, the one that has waited longest goes first;
// flows without a pace take turns. Answers to echoes go before everything else. An echo whose
// `train` answers are all missing for `interval` counts them as lost.
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
  Header header;  // unless it is an answer, the runner fills in `sent` when it sends
};

class Rank {
 public:
  // The experiment has been checked and outlives this.
  Rank(const Experiment& experiment, std::uint32_t self);

  // What is to be sent now; the same until sent() is called. Must be called at every deadline(),
  // because watches look at the clock here.
  std::optional<Outgoing> next(Nanos now);
  // The runner was given what next() returned at `at`, and took it at `until`.
  void sent(Nanos at, Nanos until);
  // One of this rank's packets left the host's queue at `at`. If called twice, the earlier time
  // counts.
  void left(const Header& header, Nanos at);
  // A packet of any rank has come: to the host at `at`, to the program at `seen`.
  void received(const Header& header, Nanos at, Nanos seen);
  // When to call next() if nothing comes before; base::kNever: not at all.
  Nanos deadline() const;

  Log& log() { return log_; }

 private:
  struct Sending {
    std::uint32_t flow = 0;
    std::uint32_t number = 0;  // of the next packet
    Nanos due = 0;
    std::uint32_t answered = 0;  // echo: answers, lost ones included
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
  Nanos looked_ = -1;  // when a watch last looked at the clock
  Log log_;
};

}  // namespace alm::probe
