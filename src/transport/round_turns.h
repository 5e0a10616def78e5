// Whose turn it is in the rounds of an exchange. Inside a round, trains of `grain` packets go to
// the partners in turn, or all of a block at once where the round is not interleaved. A round ends
// when everything of it has been sent and received; a withheld block is skipped in the order of
// sending until it is ready, and its round does not end before.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/rounds.h"
#include "transport/config.h"
#include "transport/peer.h"

namespace alm::transport {

using base::Rounds;

class RoundTurns {
 public:
  // An exchange begins. The windows of `peers` are those of its blocks; sets their round. `rounds`
  // must outlive it; `withheld` as in Engine::start(). The largest number of partners in a round is
  // returned.
  std::size_t begin(const Rounds& rounds, std::span<const std::uint8_t> withheld,
                    std::vector<Peer>& peers);
  // Of its trains, from the next one on, and how far a block may be ahead of its acknowledgements.
  void set_lengths(std::uint32_t grain, std::uint32_t span) {
    grain_ = grain;
    span_ = span;
  }
  // Loads the first round.
  void enter(const std::vector<Peer>& peers) {
    round_ = 0;
    load(peers);
  }
  void end() { rounds_ = nullptr; }
  void abandon() {
    end();
    turn_.clear();
  }

  // A packet of this round has come.
  void came(std::uint32_t round) { --recv_left_[round]; }
  // The block for this peer, which is not empty, is there now.
  void make_ready(PeerId id) {
    if (send_round_[id] != round_) return;
    --withheld_;
    turn_.push_back(id);
  }
  // Chooses the partner that the next packet goes to, if one may be sent at all; whenever all have
  // had a turn, `wrapped` is called.
  template <class Wrapped>
  bool choose(const std::vector<Peer>& peers, const Wrapped& wrapped) {
    while (choose_in_round(peers, wrapped)) {
      if (!turn_.empty()) return true;
      if (withheld_ > 0 || round_ >= recv_left_.size() || recv_left_[round_] > 0) return false;
      ++round_;
      load(peers);
    }
    return false;
  }
  PeerId partner() const { return turn_[position_]; }
  // A packet has been sent to the partner. `all`: it was the last of its block.
  void sent(bool all) {
    --train_left_;
    if (all) drop_partner();
  }

  std::size_t round() const { return round_; }
  bool withholds() const { return !send_round_.empty(); }
  // Who is likely to be the next partner, if there is one.
  const PeerId* likely() const {
    const std::uint32_t at = position_ + (train_left_ == 0 ? 1 : 0);
    return at < turn_.size() ? &turn_[at] : nullptr;
  }
  std::size_t bytes() const {
    return turn_.capacity() * sizeof(PeerId) + recv_left_.capacity() * sizeof(std::uint64_t);
  }

 private:
  void load(const std::vector<Peer>& peers);
  std::uint32_t train_length() const {
    return rounds_->interleaved ? grain_ : std::numeric_limits<std::uint32_t>::max();
  }
  // It has been sent everything.
  void drop_partner() {
    turn_.erase(turn_.begin() + position_);
    train_left_ = train_length();
  }
  // False: nobody of this round may be sent to now. True with no partners left: all has been sent.
  template <class Wrapped>
  bool choose_in_round(const std::vector<Peer>& peers, const Wrapped& wrapped) {
    std::size_t blocked = 0;
    while (!turn_.empty() && blocked <= turn_.size()) {
      if (position_ >= turn_.size()) position_ = 0;
      // A partner whose train has left is not looked at again: with many peers that is slow.
      if (train_left_ > 0) {
        const SendWindow& window = peers[turn_[position_]].send;
        if (window.exhausted()) {
          drop_partner();
          continue;
        }
        if (window.may_advance(span_)) return true;
      }
      train_left_ = train_length();
      if (++position_ >= turn_.size()) {
        position_ = 0;
        wrapped();
      }
      ++blocked;
    }
    return turn_.empty();
  }

  const Rounds* rounds_ = nullptr;
  std::vector<PeerId> turn_;    // the round's partners with packets left, in order
  std::uint32_t position_ = 0;  // in turn_
  std::uint32_t train_left_ = 0;
  std::size_t round_ = 0;
  std::vector<std::uint64_t> recv_left_;  // packets, by round
  std::uint32_t grain_ = 1, span_ = 1;
  std::size_t withheld_ = 0;               // blocks of the round that are not there yet
  std::vector<std::uint32_t> send_round_;  // [peer]; empty if no blocks were withheld
};

}  // namespace alm::transport
