#include <algorithm>

#include "harness/ranks.h"

namespace alm::harness {

using sim::Picos;

// What the exchange that has just ended says of the rate that the rank is told.
void Ranks::hold_against(Rank& self, std::size_t part, Picos now) {
  const Part& at = parts_of(self)[part];
  const execute::Course& course = self.course;
  const base::Rounds& rounds = course.plan().phases[part].rounds;
  const auto uniform = course.uniform_bytes(part);
  std::uint64_t came = 0, waited = 0;
  for (const base::PeerId peer : rounds.recv) {
    came += uniform ? *uniform : course.receive_bytes(part)[peer];
  }
  for (const base::PeerId peer : rounds.send) {
    waited += uniform ? *uniform : course.send_bytes(part)[peer];
  }
  const std::uint64_t payload = at.engine->sizes().packet_bytes();
  const auto in_frames = [&](std::uint64_t bytes) {
    return bytes * (payload + wire::kHeaderBytes + overhead_bytes_) / payload;
  };
  waited -= std::min(waited, at.at_once);
  self.claim->exchanged(in_frames(came), in_frames(waited), sim::to_nanos(now - at.begun));
}

}  // namespace alm::harness
