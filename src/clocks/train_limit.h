// How many packets may leave together.
//
// A train costs its sender little more than a packet, and fills a queue at once: where several
// trains meet, or the queue holds fewer than was thought, packets are lost that would not be if
// they left one by one. So an exchange that loses several packets of one train halves its trains.
// After 16 exchanges they are doubled again, after 32 if that was too early, and so on.
//
// Networks lose single packets for other reasons, too: what is lost alone says nothing of trains,
// and of trains of 13 one in ten that loses a packet loses two if one packet in a hundred gets lost
// by chance. So it has to be more than one packet in 512.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

namespace alm::clocks {

class TrainLimit {
 public:
  // An exchange begins whose trains would be so long. Returns how long they are.
  std::uint32_t begin(std::uint32_t wanted) {
    train_ = std::min(wanted, most_);
    lost_ = 0;
    peer_ = kNone;
    halved_ = false;
    return train_;
  }
  // A packet to this peer was lost, of so many that the exchange has sent. Returns how long trains
  // are now.
  std::uint32_t lost(std::uint32_t peer, std::uint32_t packet, std::uint64_t sent) {
    const bool together = peer == peer_ && packet > packet_ && packet - packet_ < train_;
    peer_ = peer;
    packet_ = packet;
    if (together && ++lost_ * kPart > sent && !std::exchange(halved_, true)) train_ /= 2;
    return train_;
  }
  void end() {
    if (halved_) {
      most_ = train_;
      failures_ = std::min(failures_ + 1, kFailuresMax);
      left_ = kStep << failures_;
    } else if (most_ != kNone && --left_ == 0) {
      most_ = most_ < kLongest ? 2 * most_ : kNone;
      if (most_ == kNone) failures_ = 0;
      left_ = kStep << failures_;
    }
  }

 private:
  static constexpr std::uint64_t kPart = 512, kStep = 8;
  static constexpr std::uint32_t kFailuresMax = 7, kLongest = 64;
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  std::uint32_t train_ = 1, most_ = kNone;
  std::uint64_t lost_ = 0;                   // that another one of the same train was lost before
  std::uint32_t peer_ = kNone, packet_ = 0;  // the latest
  bool halved_ = false;
  std::uint64_t left_ = 0;  // exchanges until trains may be longer
  std::uint32_t failures_ = 0;
};

}  // namespace alm::clocks
