// Decides when it pays to bring a communicator up. Bring-up has a fixed cost, and programs make
// communicators for a call or two. So calls go to the MPI library until they have cost about as
// much as bring-up: no communicator costs much more than twice the least possible (the ski rental
// problem). All ranks decide alike. Pure.
#pragma once

#include <array>
#include <cstdint>

#include "base/time.h"

namespace alm::tuning {

// The cost of a call follows from figures that all ranks know.
class DueByBytes {
 public:
  // `host_rate_mbit_s` that of the slowest host's link; 0: unknown. `slowed`: the factor for fixed
  // times (option time_scale).
  DueByBytes(double host_rate_mbit_s, double slowed);

  // Comes before each call on the communicator; `bytes`: what the fullest rank sends or receives.
  void call(std::uint64_t bytes);
  // From the call on that makes bring-up due.
  bool reached() const { return spent_ >= bring_up_; }

  // What the fullest rank sends or receives is not always known to all. Ranks that tell each other
  // before each call would make small calls twice as long. So they do before the first such call,
  // the second, the fourth and so on, and what they agreed on last counts for those between.
  // Comes before each such call: whether they tell each other before this one.
  bool asks();
  void agreed(std::uint64_t bytes) { agreed_ = bytes; }
  std::uint64_t agreed() const { return agreed_; }

 private:
  double bytes_per_ns_;
  base::Nanos bring_up_, least_;
  base::Nanos spent_ = 0;
  std::uint64_t asked_ = 0, agreed_ = 0;
};

// What calls cost is measured, and ranks compare it now and then: on idle hosts a call takes 20 us,
// on crowded ones as many ms, and one that waits for time-outs a second. The first call does not
// count: it opens the library's connections.
class DueByTime {
 public:
  // Blocks of one size that libraries combine, so that no call stalls: they may wait even on
  // MPI_COMM_WORLD.
  static bool waits_for(std::uint64_t block_bytes);

  // Of such blocks. Ranks compare before the second call, the fourth, the eighth and so on, and
  // before every 128th.
  static DueByTime of_small_blocks(double slowed);
  // Of any, beside DueByBytes, for calls that stall, or that crowded hosts make long. Communicators
  // are often made for a call or two: ranks compare from the eighth on.
  static DueByTime of_long_calls(double slowed);

  // Comes before each call: whether the ranks compare their figures before it.
  bool compares();
  // Of this rank, to be compared by their minimum: ranks that come early measure the lateness of
  // others, too.
  using Figures = std::array<std::uint64_t, 2>;
  Figures figures() const { return {spent_, comparing_}; }
  // `least`: of all ranks. `took`: comparing them.
  void compared(const Figures& least, base::Nanos took);
  // The call that has come, by the library.
  void took(base::Nanos time);
  // Bring-up is due whatever calls have cost.
  void come() { reached_ = true; }
  bool reached() const { return reached_; }

 private:
  DueByTime(std::uint64_t first, base::Nanos bring_up, base::Nanos surely)
      : first_(first), bring_up_(bring_up), surely_(surely) {}

  std::uint64_t first_;  // comparison, before this call
  base::Nanos bring_up_, surely_;
  bool reached_ = false;
  std::uint64_t calls_ = 0;
  std::uint64_t spent_ = 0, comparing_ = 0;
};

}  // namespace alm::tuning
