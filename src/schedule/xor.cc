// XOR: in step i the partner of r is r xor i, both ways. i = 1..p-1 where p is a power of two; else
// i = 1..2^ceil(log2 p)-1, and a rank whose partner would be p or more idles (000 section 3.4).
// Up to 2(p-2)+1 steps: edge colouring needs at most p.
#include <bit>

#include "schedule/schedule.h"

namespace alm::schedule {
namespace {

class Xor final : public Schedule {
 public:
  explicit Xor(std::uint32_t ranks)
      : Schedule(ranks, ranks > 0 ? std::bit_ceil(ranks) - 1 : 0, true) {}

  base::Rank send_to(base::Rank rank, std::uint32_t step) const override {
    const std::uint32_t partner = rank.value ^ (step + 1);
    return partner < ranks() ? base::Rank{partner} : base::Rank::none();
  }
  base::Rank recv_from(base::Rank rank, std::uint32_t step) const override {
    return send_to(rank, step);
  }
};

}  // namespace

SchedulePtr make_xor(std::uint32_t ranks) { return std::make_unique<Xor>(ranks); }

}  // namespace alm::schedule
