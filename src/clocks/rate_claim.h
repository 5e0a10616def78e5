// What a cluster file says that the links of this host carry, held against what has come over them.
//
// A rate that is too low must not hold a sender back, so nothing is paced by it before it has been
// seen: exchanges that only their windows held back have come at about this rate. Windows leave a
// little of it unused, and the ranks of a busy machine more; an exchange in which less comes says
// nothing, because any of a hundred things may be slow. One in which clearly more comes shows that
// the file is wrong.
//
// What a sender is paced by is the rate of the slowest host of the job. More than that may come to
// a faster one, and its interface says so: both are held against what the file says of this host.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"

namespace alm::clocks {

class RateClaim {
 public:
  enum class Verdict : std::uint8_t { kOpen, kSeen, kTooLow };

  RateClaim() = default;
  // `pace_mbit_s`: of the slowest host. `told_mbit_s`: what the interface says of itself; 0:
  // nothing. `host_mbit_s`: what the file says of this host; 0: the same as of the slowest.
  explicit RateClaim(double pace_mbit_s, double told_mbit_s = 0, double host_mbit_s = 0)
      : pace_(pace_mbit_s), host_(std::max(pace_mbit_s, host_mbit_s)) {
    if (pace_ <= 0 || told_mbit_s <= 0) return;
    if (told_mbit_s > kClearly * host_) verdict_ = Verdict::kTooLow;
    if (told_mbit_s <= kClearly * host_ && told_mbit_s >= host_ / kClearly) {
      verdict_ = Verdict::kSeen;
    }
  }

  // So many bytes in frames have come in an exchange that took `time`, and so many of those that
  // were sent had to wait for what came.
  void exchanged(std::uint64_t came, std::uint64_t waited, base::Nanos time) {
    if (pace_ <= 0 || time <= 0) return;
    const auto rate = [time](std::uint64_t bytes) {
      return static_cast<double>(bytes) * kBits / static_cast<double>(time);
    };
    if (came >= kBytesMin) {
      received_ = std::max(received_, rate(came));
      if (rate(came) >= kAbout * pace_) ++at_it_;
    }
    // Others may have begun before this rank did: much of it has come already. But what this rank
    // sends has to pass the link both ways.
    const std::uint64_t both = std::min(came, waited);
    if (both >= kBytesMin && rate(both) > kClearly * host_) ++above_;
    if (above_ >= kTimes) {
      verdict_ = Verdict::kTooLow;
    } else if (at_it_ >= kTimes && verdict_ == Verdict::kOpen) {
      verdict_ = Verdict::kSeen;
    }
  }
  // Calls have shown it, of a rate somewhere on the way.
  void refute() { by_calls_ = pace_ > 0; }

  Verdict verdict() const { return verdict_; }
  // Whether times may be reckoned from the rate.
  bool holds() const {
    return verdict_ == Verdict::kSeen && !by_calls_ && received_ <= kSame * host_;
  }
  // What may be paced by; where more has come than the file says of this host, never below that.
  double mbit_s() const { return received_ > host_ ? received_ : pace_; }
  // Whether an exchange has shown that the file is wrong, not the interface alone.
  bool outrun() const { return received_ > host_; }
  // Whether anything but an interface has shown that links carry clearly more.
  bool refuted() const { return by_calls_ || above_ >= kTimes; }
  // The highest rate of an exchange.
  double received_mbit_s() const { return received_; }

 private:
  static constexpr double kBits = 8e3;      // bytes per nanosecond in Mbit/s
  static constexpr double kAbout = 0.85;    // of the rate: what exchanges reach where it is right
  static constexpr double kSame = 1.1;      // times the rate: windows of others came before
  static constexpr double kClearly = 1.25;  // times the rate
  static constexpr std::uint32_t kTimes = 2;
  static constexpr std::uint64_t kBytesMin = 64 << 10;

  double pace_ = 0, host_ = 0;  // 0: there is no claim
  double received_ = 0;
  std::uint32_t at_it_ = 0, above_ = 0;  // exchanges
  bool by_calls_ = false;
  Verdict verdict_ = Verdict::kOpen;
};

}  // namespace alm::clocks
