// Edge colouring of K_p by the circle method (the round robin tournament; 000's "edgecolor").
// Even p: rank p-1 stands in the middle of a circle of the m = p-1 others. In step c, ranks r and
// (c - r) mod m meet; the one with 2r = c (mod m), left without a partner, meets the middle.
// Odd p: the same circle of m = p ranks with nobody in the middle, so that one rank idles per step.
// p-1 steps for even p, p steps for odd p; self-inverse, so every step is a perfect pairing.
#include "schedule/schedule.h"

namespace alm::schedule {
namespace {

class EdgeColouring final : public Schedule {
 public:
  explicit EdgeColouring(std::uint32_t ranks)
      : Schedule(ranks, ranks < 2 ? 0 : circle_of(ranks), true), circle_(circle_of(ranks)) {}

  base::Rank send_to(base::Rank rank, std::uint32_t step) const override {
    const bool has_middle = circle_ != ranks();
    if (has_middle && rank.value == circle_) return {halved(step)};
    const std::uint32_t partner = (step + circle_ - rank.value) % circle_;
    if (partner != rank.value) return {partner};
    return has_middle ? base::Rank{circle_} : base::Rank::none();
  }
  base::Rank recv_from(base::Rank rank, std::uint32_t step) const override {
    return send_to(rank, step);
  }

 private:
  static std::uint32_t circle_of(std::uint32_t ranks) { return ranks % 2 == 0 ? ranks - 1 : ranks; }
  // The r with 2r = c (mod circle); the circle is odd.
  std::uint32_t halved(std::uint32_t c) const { return (c % 2 == 0 ? c : c + circle_) / 2; }

  std::uint32_t circle_;
};

}  // namespace

SchedulePtr make_edge_colouring(std::uint32_t ranks) {
  return std::make_unique<EdgeColouring>(ranks);
}

}  // namespace alm::schedule
