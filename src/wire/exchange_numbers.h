// The numbers of exchanges. A rank counts from 0 the exchanges that it has entered. The one that it
// has entered last runs or is complete. The latest complete one is the tail: peers may still ask
// for it. What comes of exchange `entered()` comes early.
#pragma once

#include <cstdint>

namespace alm::wire {

class ExchangeNumbers {
 public:
  void enter() {
    ++entered_;
    running_ = true;
  }
  void leave() { running_ = false; }

  std::uint64_t entered() const { return entered_; }
  bool running() const { return running_; }
  std::uint64_t current() const { return entered_ - 1; }  // the running one, or the latest
  bool runs(std::uint64_t exchange) const { return running_ && exchange == current(); }
  // All exchanges with lower numbers are complete on this rank.
  std::uint64_t done_below() const { return running_ ? entered_ - 1 : entered_; }
  bool has_tail() const { return done_below() > 0; }
  std::uint64_t tail() const { return done_below() - 1; }
  bool is_tail(std::uint64_t exchange) const { return has_tail() && exchange == tail(); }

  // The full number with these low bits that is nearest to the current one.
  std::uint64_t expand(std::uint16_t low) const {
    constexpr std::uint64_t kSpace = 65536;
    const std::uint64_t near = (entered_ & ~(kSpace - 1)) | low;
    if (near > entered_ + kSpace / 2 && near >= kSpace) return near - kSpace;
    if (near + kSpace / 2 < entered_) return near + kSpace;
    return near;
  }

 private:
  std::uint64_t entered_ = 0;
  bool running_ = false;
};

}  // namespace alm::wire
