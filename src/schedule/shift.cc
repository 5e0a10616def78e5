// Shift: in step i = 1..p-1 rank r sends to (r + i) mod p and receives from (r - i) mod p.
// p-1 steps for any p, nobody idles. Sender and receiver differ, so acks ride on later packets.
#include "schedule/schedule.h"

namespace alm::schedule {
namespace {

class Shift final : public Schedule {
 public:
  explicit Shift(std::uint32_t ranks) : Schedule(ranks, ranks > 0 ? ranks - 1 : 0, false) {}

  base::Rank send_to(base::Rank rank, std::uint32_t step) const override {
    return {(rank.value + step + 1) % ranks()};
  }
  base::Rank recv_from(base::Rank rank, std::uint32_t step) const override {
    return {(rank.value + ranks() - step - 1) % ranks()};
  }
};

}  // namespace

SchedulePtr make_shift(std::uint32_t ranks) { return std::make_unique<Shift>(ranks); }

}  // namespace alm::schedule
