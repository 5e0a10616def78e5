// Shift: in step i = 1..p-1 rank r sends to (r + d) mod p and receives from (r - d) mod p.
// p-1 steps for any p, nobody idles. Sender and receiver differ, so acks ride on later packets.
//
// The plain shift has d = i. With ranks numbered leaf by leaf, nearly nobody crosses an uplink in
// its first and last steps and everybody in those between.
//
// Strided, for networks of which nothing is known: d = i * g mod p, where g is coprime to p and as
// near to p over the golden ratio as can be. The multiples of the golden ratio are spread more
// evenly over the circle than those of any other number, whatever their count (Weyl's sequence),
// so a few steps in a row hold near and far distances, and distances of all remainders, in about
// their shares: whatever the size of leaves, at every level, and whether ranks are dealt to leaves
// in blocks or in turn. On one switch it is the plain shift with ranks numbered otherwise.
#include <cmath>
#include <numeric>

#include "schedule/schedule.h"

namespace alm::schedule {
namespace {

class Shift final : public Schedule {
 public:
  Shift(std::uint32_t ranks, std::uint32_t stride)
      : Schedule(ranks, ranks > 0 ? ranks - 1 : 0, false), stride_(stride) {}

  base::Rank send_to(base::Rank rank, std::uint32_t step) const override {
    return {(rank.value + distance(step)) % ranks()};
  }
  base::Rank recv_from(base::Rank rank, std::uint32_t step) const override {
    return {(rank.value + ranks() - distance(step)) % ranks()};
  }

 private:
  std::uint32_t distance(std::uint32_t step) const {
    return static_cast<std::uint32_t>((std::uint64_t{step} + 1) * stride_ % ranks());
  }

  std::uint32_t stride_;
};

std::uint32_t golden_stride(std::uint32_t ranks) {
  if (ranks < 2) return 1;
  constexpr double kGolden = 1.618033988749895;
  const auto nearest = static_cast<std::uint32_t>(std::lround(ranks / kGolden));
  for (std::uint32_t off = 0;; ++off) {  // 1 is coprime to all
    for (const std::uint32_t stride : {nearest - off, nearest + off}) {
      if (stride < ranks && stride > 0 && std::gcd(stride, ranks) == 1) return stride;
    }
  }
}

}  // namespace

SchedulePtr make_shift(std::uint32_t ranks) { return std::make_unique<Shift>(ranks, 1); }

SchedulePtr make_strided_shift(std::uint32_t ranks) {
  return std::make_unique<Shift>(ranks, golden_stride(ranks));
}

}  // namespace alm::schedule
