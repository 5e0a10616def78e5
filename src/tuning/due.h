// Decides when it pays to bring a communicator up. Bring-up has a fixed cost, and programs make
// communicators for a call or two. So calls go to the MPI library until they have cost about as
// much as bring-up: no communicator costs much more than twice the least possible (the ski rental
// problem). The cost of a call follows from figures that all ranks know, so that all decide alike.
// Pure.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace alm::tuning {

class Due {
 public:
  // `host_rate_mbit_s` that of the slowest host's link; 0: unknown. `slowed`: the factor for fixed
  // times (option time_scale).
  Due(double host_rate_mbit_s, double slowed);

  // Comes before each call on the communicator; `bytes`: what the fullest rank sends or receives.
  // True from the call on that makes bring-up due.
  bool call(std::uint64_t bytes);
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

}  // namespace alm::tuning
