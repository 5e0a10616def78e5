// The trains of an exchange in steps, in the order in which this rank sends them. A train whose
// block is withheld is passed over as soon as a later one can be sent. Once the block is there, the
// train is late: it takes the steps this rank would idle in, or else a step each from what follows.
// What is left when the trains end goes in rounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "base/rounds.h"
#include "transport/peer.h"

namespace alm::transport {

using base::PeerId;
using base::Train;

class Trains {
 public:
  // An exchange begins; `trains` must outlive it. `peers` here and below: their blocks.
  void begin(std::span<const Train> trains, const std::vector<Peer>& peers) {
    trains_ = trains;
    at_ = 0;
    sent_ = late_sent_ = 0;
    all_withheld_ = false;
    passed_.clear();
    late_.clear();
    skip_exhausted(peers);
  }
  void end() { trains_ = {}; }

  bool any() const { return at_ < trains_.size(); }
  // The train that is next, and the step of its next packet. Precondition: any().
  const Train& next() const { return trains_[at_]; }
  std::uint64_t step() const { return next().step + sent_; }
  // Goes on to the first train whose block is there. False: there is none.
  bool pass_over_withheld(const std::vector<Peer>& peers) {
    if (!peers[next().peer].withheld) return true;
    if (all_withheld_) return false;
    std::size_t ready = at_;
    while (ready < trains_.size()) {
      const Peer& peer = peers[trains_[ready].peer];
      if (!peer.withheld && !peer.send.exhausted()) break;
      ++ready;
    }
    all_withheld_ = ready == trains_.size();
    if (all_withheld_) return false;
    for (; at_ < ready; ++at_) passed_.push_back(at_);
    return true;
  }
  // A packet of the train has been sent.
  void sent(const std::vector<Peer>& peers) {
    ++sent_;
    skip_exhausted(peers);
  }

  // The block for this peer is there now.
  void make_ready(PeerId id) {
    all_withheld_ = false;
    for (const std::size_t train : passed_) {
      if (trains_[train].peer == id) late_.push_back(train);
    }
  }
  // The first late train that has packets left, if there is one.
  const Train* late(const std::vector<Peer>& peers) {
    while (!late_.empty()) {
      const Train& train = trains_[late_.front()];
      if (late_sent_ < train.packets && !peers[train.peer].send.exhausted()) return &train;
      late_.pop_front();
      late_sent_ = 0;
    }
    return nullptr;
  }
  // A packet of it has been sent.
  void late_sent(const std::vector<Peer>& peers) {
    ++late_sent_;
    skip_exhausted(peers);
  }
  // Trains that were passed over, in order.
  std::span<const std::size_t> passed() const { return passed_; }

 private:
  // A train may be for a block that is shorter than was thought when the steps were made.
  void skip_exhausted(const std::vector<Peer>& peers) {
    while (any() && (sent_ == next().packets || peers[next().peer].send.exhausted())) {
      ++at_;
      sent_ = 0;
    }
  }

  std::span<const Train> trains_;
  std::size_t at_ = 0;
  std::uint32_t sent_ = 0;
  bool all_withheld_ = false;  // all trains from at_ on
  std::vector<std::size_t> passed_;
  std::deque<std::size_t> late_;  // those of passed_ that are ready now
  std::uint32_t late_sent_ = 0;   // packets of the first of them
};

}  // namespace alm::transport
