// A queue of peers. Mostly it is empty, and a look must be cheap.
#pragma once

#include <cstddef>
#include <vector>

#include "base/rounds.h"

namespace alm::base {

class PeerQueue {
 public:
  bool empty() const { return peers_.empty(); }
  std::size_t size() const { return peers_.size() - gone_; }
  void push_back(PeerId peer) { peers_.push_back(peer); }
  PeerId take() {
    const PeerId peer = peers_[gone_++];
    if (gone_ == peers_.size()) {
      clear();
    } else if (2 * gone_ > peers_.size()) {
      peers_.erase(peers_.begin(), peers_.begin() + static_cast<std::ptrdiff_t>(gone_));
      gone_ = 0;
    }
    return peer;
  }
  void clear() {
    peers_.clear();
    gone_ = 0;
  }

 private:
  std::vector<PeerId> peers_;
  std::size_t gone_ = 0;  // entries popped from the front
};

}  // namespace alm::base
