// Whether a larger window makes exchanges faster, where nothing tells how soon ranks answer.
//
// Kernels tell how long packets are under way (clocks/pipe.h). Ranks take longer: they have to be
// woken and to read what has come, and on fast links that is the time of many packets. So twice the
// window is attempted. If an exchange takes an eighth less time with it, it stays, and the next
// attempt follows at once; else it goes back. An exchange also waits for ranks that are late:
// three have to show nothing. An attempt that loses packets has failed, and one that three
// exchanges of other sizes follow. The next one is prepared from the next exchange on whose number
// 16 divides, then 32 and so on: exchanges take all ranks the same time, so that most attempt the
// same. Only exchanges with about as many packets as those before are held against these.
//
// Where a larger window was worth it hosts are slower than links, and a train costs them little
// more than a packet: trains of a quarter of the window leave.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/time.h"

namespace alm::clocks {

class Climb {
 public:
  // `link_time`: of a full packet on the host's link; 0: not known. `first`: the exchange before
  // which nothing is attempted. It is put off to the next number that 4 divides, because ranks may
  // not agree on it.
  explicit Climb(base::Nanos link_time = 0, std::uint64_t first = 0)
      : link_time_(link_time), waits_until_((first + kFirst - 1) / kFirst * kFirst) {}

  struct Exchange {
    std::uint64_t number = 0;  // the same on all ranks
    base::Nanos took = 0;
    std::uint64_t packets = 0;
    std::uint32_t window = 0, most = 0;  // of it, and of any
    bool lossy = false;
    bool cut = false;  // losses have cut the window before: no larger one is attempted
  };
  // It is over. Returns the window of the next one where that is to change.
  std::optional<std::uint32_t> end(const Exchange& one) {
    count_ = one.number + 1;
    const bool lossy = one.lossy || one.cut;
    if (count_ < waits_until_) return std::nullopt;
    const bool alike = 8 * one.packets >= 7 * packets_ && 8 * one.packets <= 9 * packets_;
    const auto each = one.took / static_cast<base::Nanos>(std::max<std::uint64_t>(one.packets, 1));
    if (before_ > 0) {
      const bool faster = alike && !lossy && one.window > before_ && 8 * each <= 7 * least_;
      if (!faster && !lossy && ++tried_ < kTries) return std::nullopt;
      const std::uint32_t back = before_;
      before_ = tried_ = 0;
      if (!faster) return give_up(back);
      held_ = true;
      failures_ = 0;
    } else if (lossy) {
      return std::nullopt;
    }
    seen_ = alike ? seen_ + 1 : 1;
    least_ = alike ? std::min(each, least_) : each;
    packets_ = one.packets;
    // The first exchange of a job waits for what happens once.
    if (seen_ < kSeen || one.window > one.most / 2 || one.packets < 4 * std::uint64_t{one.window}) {
      return std::nullopt;
    }
    if (each < 2 * link_time_) return std::nullopt;  // the link is busy
    before_ = one.window;
    return 2 * one.window;
  }

  // An attempt is under way.
  bool attempts() const { return before_ > 0; }
  // Packets that leave together, of those that a window of so many lets out.
  std::uint32_t train(std::uint32_t window, std::uint32_t least, std::uint32_t most) const {
    return held_ || attempts() ? std::max(least, std::min(most, window / kTrainsPerWindow)) : least;
  }

 private:
  std::uint32_t give_up(std::uint32_t back) {
    waits_until_ = later(failures_);
    failures_ = std::min(failures_ + 1, kFailuresMax);
    seen_ = 0;
    packets_ = 0;
    return back;
  }

  // The next number that 16, 32, ... divides.
  std::uint64_t later(std::uint32_t failures) const {
    const std::uint64_t step = kWait << failures;
    return (count_ / step + 1) * step;
  }

  static constexpr std::uint32_t kTries = 3, kSeen = 2;
  static constexpr std::uint64_t kFirst = 4, kWait = 16;
  static constexpr std::uint32_t kFailuresMax = 6, kTrainsPerWindow = 4;

  base::Nanos link_time_;
  std::uint32_t before_ = 0;       // the window before the attempt; 0: none is under way
  std::uint32_t tried_ = 0;        // exchanges of the attempt
  bool held_ = false;              // a larger window was worth it
  std::uint64_t packets_ = 0;      // of the exchanges that count
  base::Nanos least_ = 0;          // the shortest time of a packet in them
  std::uint32_t seen_ = 0;         // so many are they
  std::uint64_t count_ = 0;        // number of the next exchange
  std::uint64_t waits_until_ = 0;  // the number of an exchange
  std::uint32_t failures_ = 0;     // in a row
};

}  // namespace alm::clocks
