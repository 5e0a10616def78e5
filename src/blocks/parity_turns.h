// Parities that follow the blocks of an exchange with far peers (blocks/parity_code.h), where
// packets get lost.
//
// A packet that is lost in the last round trip of an exchange costs another one: its receiver has
// to ask. So when everything has been sent once, each block gets some parities, one of each in
// turn, at the pace. How many is what costs the least (blocks/parity_need.h), by what was lost in
// earlier exchanges. Few ranks see a loss where blocks are short or losses rare, so ranks that have
// seen one say so in their parities, and those that get them send some, too. What was lost earlier
// in an exchange is sent again in time, and blocks that last longer get none.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/rounds.h"
#include "base/time.h"
#include "blocks/parity_code.h"
#include "blocks/parity_need.h"
#include "blocks/windows.h"

namespace alm::blocks {

class ParityTurns {
 public:
  struct Turn {
    base::PeerId peer = 0;
    std::uint32_t index = 0;  // of the parity
  };
  // What an exchange is, of which the longest block has `largest` packets.
  struct Shape {
    bool allows = false;  // parities
    std::uint32_t largest = 0;
    base::Nanos packet_time = 0;  // by the pace
    base::Nanos round_trip = 0;
  };

  // An exchange begins; peers[peer] has the windows `send` and `recv` of its blocks.
  template <class Peers>
  void begin(const base::Rounds& rounds, const Shape& shape, const Peers& peers) {
    end();
    const double lost = expected();
    for (const base::PeerId peer : rounds.send) {
      if (peers[peer].send.total == 0) continue;
      partners_.push_back(peer);
      packets_ += peers[peer].send.total;
    }
    for (const base::PeerId peer : rounds.recv) packets_ += peers[peer].recv.total;
    if (!shape.allows || lost > kLostMost || shape.largest > kParityBlockMax) return;
    const double turn =
        static_cast<double>(shape.packet_time) * static_cast<double>(partners_.size());
    const auto round_trip = static_cast<double>(shape.round_trip);
    each_ = parities_needed(
        {.lost = lost,
         .exposed = std::min<double>(shape.largest, turn > 0 ? round_trip / turn : 0),
         .blocks = static_cast<double>(partners_.size() * peers.size()),
         .parity = turn,
         .missed = round_trip});
  }
  void end() {
    partners_.clear();
    came_.clear();
    each_ = 0;
    next_ = 0;
  }

  // Whether some are to be sent.
  bool left() const { return next_ < partners_.size() * each_; }
  // The next one, of a block that has not been acknowledged; nothing: none is left.
  template <class Peers>
  std::optional<Turn> next(const Peers& peers) {
    for (; left(); ++next_) {
      const Turn turn{partners_[next_ % partners_.size()],
                      static_cast<std::uint32_t>(next_ / partners_.size())};
      if (peers[turn.peer].send.acked < peers[turn.peer].send.total) return turn;
    }
    return std::nullopt;
  }
  void sent() { ++next_; }
  // The link is full: no more are to be sent in this exchange.
  void stop() { each_ = 0; }
  // So many packets of those that this rank sends or receives were lost.
  void lost(std::uint32_t packets) { lost_ += packets; }
  // One that counted as lost had been overtaken.
  void was_late() { lost_ = std::max(0.0, lost_ - 1); }

  bool first_hand() const { return first_hand_; }  // this rank has seen losses
  // A parity of this peer's block has come. False: it had come before. Precondition: index <
  // kParitiesMax.
  bool came(base::PeerId peer, std::uint32_t index) {
    if (came_.size() <= peer) came_.resize(peer + 1, 0);
    const auto bit = static_cast<std::uint8_t>(1u << index);
    if ((came_[peer] & bit) != 0) return false;
    came_[peer] |= bit;
    return true;
  }
  // A peer has seen losses.
  void told() { told_ = kToldExchanges; }
  bool suffice(base::PeerId peer, const ReceiveWindow& recv) const {
    if (peer >= came_.size() || recv.complete()) return false;
    const auto here = static_cast<std::uint32_t>(std::popcount(came_[peer]));
    return here > 0 && recv.cumulative + recv.beyond.count() + here >= recv.total;
  }

 private:
  // Weight of the exchanges before in what is lost: some hundred packets show one loss in a
  // hundred.
  static constexpr double kMemory = 15.0 / 16;
  // A single loss weighs so much after 54 exchanges, and counts no more.
  static constexpr double kRemembered = 1.0 / 32;
  static constexpr std::uint32_t kToldExchanges = 54;
  // Where more is lost the link is full, and the pace slows down (transport/pace.h).
  static constexpr double kLostMost = 1.0 / 16;

  // The part of the packets that is lost. Who knows of one loss expects another one.
  double expected() {
    first_hand_ = lost_ > kRemembered;
    const double lost = packets_ > 0 && (first_hand_ || told_ > 0) ? (lost_ + 1) / packets_ : 0;
    if (told_ > 0) --told_;
    lost_ *= kMemory;
    packets_ *= kMemory;
    return lost;
  }

  std::vector<base::PeerId> partners_;  // in the order of sending
  std::uint32_t each_ = 0;              // parities of a block
  std::size_t next_ = 0;                // of all
  std::vector<std::uint8_t> came_;      // [peer], by index; empty: none have
  bool first_hand_ = false;
  std::uint32_t told_ = 0;         // exchanges for which what a peer has said counts
  double lost_ = 0, packets_ = 0;  // of exchanges so far; older ones weigh less
};

}  // namespace alm::blocks
