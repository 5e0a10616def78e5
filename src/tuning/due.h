// Whether a communicator has shown that bringing it up will pay. Bring-up takes its time whatever
// is exchanged afterwards, and programs make communicators for a call or two. So calls go to the
// MPI library until they have cost about what bring-up costs: no communicator takes much more than
// twice what it has to (the ski rental problem). What a call costs is reckoned from what all ranks
// know, so that all of them decide alike. Pure.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace alm::tuning {

class Due {
 public:
  // `host_rate_mbit_s` of the slowest host's link; 0: unknown. `slowed`: fixed times are so many
  // times longer (option time_scale).
  Due(double host_rate_mbit_s, double slowed);

  // Before each call on it, in which the fullest rank sends or receives so many bytes. True from
  // the call on that makes it due.
  bool call(std::uint64_t bytes);
  bool reached() const { return spent_ >= bring_up_; }

 private:
  double bytes_per_ns_;
  base::Nanos bring_up_, least_;
  base::Nanos spent_ = 0;
};

}  // namespace alm::tuning
