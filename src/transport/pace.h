// When the next packet to a far peer may leave.
//
// A full frame leaves every Config::pace, a shorter one in proportion. A rank that is late makes up
// for a burst and no more. Where much is lost the pace slows down by a quarter each round trip, to
// an eighth at most, and recovers when losses end.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"
#include "transport/config.h"
#include "transport/emission.h"
#include "wire/header.h"

namespace alm::transport {

class Pace {
 public:
  explicit Pace(const Config& config)
      : fastest_(config.pace),
        time_(config.pace),
        full_(config.datagram_bytes + kFramingBytes),
        burst_(config.pace_burst_packets),
        end_least_(static_cast<std::uint64_t>(config.pace_end_least * static_cast<double>(full_))),
        yields_(config.pace_yields),
        round_trip_(config.round_trip) {}

  // False: data goes as the window allows.
  bool rules() const { return fastest_ > 0; }
  bool slowed() const { return time_ != fastest_; }
  base::Nanos time_of(std::uint64_t frame_bytes) const {
    return time_ * static_cast<base::Nanos>(frame_bytes) / static_cast<base::Nanos>(full_);
  }

  void begin(base::Nanos now) { due_at_ = now; }
  void forget() { time_ = fastest_; }
  base::Nanos due_at() const { return due_at_; }
  // A packet with so many bytes of payload has left. `several`: its block has more than this one.
  void sent(base::Nanos now, std::uint32_t length, bool several) {
    const std::uint64_t own = length + wire::kHeaderBytes + kFramingBytes;
    due_at_ = std::max(due_at_, now - time_ * burst_) +
              time_of(several ? std::max(own, end_least_) : own);
    ++sent_;
    if (yields_) adapt();
  }
  // A packet was lost, and is sent again.
  void lost() { ++lost_; }

 private:
  static constexpr std::uint64_t kPacketsMin = 64;
  static constexpr std::uint64_t kMuch = 16, kLittle = 64;  // one in so many
  static constexpr base::Nanos kSlowest = 8;

  // Once for what is sent in a round trip: a loss is known of that much later.
  void adapt() {
    const auto on_the_way = static_cast<std::uint64_t>(round_trip_ / time_);
    if (sent_ < std::max(kPacketsMin, on_the_way)) return;
    if (lost_ * kMuch > sent_) {
      time_ = std::min(time_ + time_ / 4, kSlowest * fastest_);
    } else if (lost_ * kLittle < sent_) {
      time_ -= (time_ - fastest_ + 3) / 4;
    }
    sent_ = lost_ = 0;
  }

  base::Nanos fastest_, time_;  // between two full frames
  base::Nanos due_at_ = 0;
  std::uint64_t sent_ = 0, lost_ = 0;  // since the pace was last looked at
  std::uint64_t full_;                 // bytes of a full frame
  std::uint32_t burst_;
  std::uint64_t end_least_;
  bool yields_;
  base::Nanos round_trip_;
};

}  // namespace alm::transport
