// Balanced, staggered: any groups, any number of levels. All ranks stand in one row, the
// interleaved order, each group spread evenly over it. Every rank sends to everybody in that order,
// going round, and starts at the place equal to its own position in the hierarchical order (leaf by
// leaf):
//   step t: the rank at position a sends to the rank at place (a + t) mod p, t = 0..p-1,
//           and the rank at place b receives from the one at position (b - t) mod p.
// The remap (000 Eq 5) lets the hosts of a leaf start d2 places apart, hence all at the same leaf;
// here they start at consecutive places, hence at all leaves evenly.
// p steps; each rank idles in one, where it would meet itself.
//
// Load. A group of n ranks sends, in step t, to the n consecutive places begin + t .. begin +
// t+n-1. As many of those as hold its own ranks stay inside: with equal groups of equal subgroups a
// group stands exactly every p/n places, hence at least floor(n*n/p) stay, at most ceil(n(p-n)/p)
// <= ceil(nu) cross its uplink, at every level. With unequal leaves below one core the fair
// sequence is off by less than one at either end of the window, so at least floor(n*n/p) - 1 stay
// and at most ceil(nu) + 1 cross; each level above adds less than 2 more. Out and in are equal: who
// stays inside is the same pairs, and a rank that idles does both at once. In any p/n consecutive
// steps (equal groups) exactly n(p/n - 1) cross: Eq 5's bound, met always.
#include <vector>

#include "schedule/interleave.h"
#include "schedule/schedule.h"

namespace alm::schedule {
namespace {

class Staggered final : public Schedule {
 public:
  explicit Staggered(const Grouping& grouping)
      : Schedule(grouping.ranks(), grouping.ranks() < 2 ? 0 : grouping.ranks(), false),
        start_(grouping.position().begin(), grouping.position().end()),
        at_start_(grouping.order().begin(), grouping.order().end()),
        row_(interleaved(grouping)),
        place_(row_.size()) {
    for (std::uint32_t i = 0; i < row_.size(); ++i) place_[row_[i].value] = i;
  }

  base::Rank send_to(base::Rank rank, std::uint32_t step) const override {
    return other(rank, row_[(start_[rank.value] + step) % ranks()]);
  }
  base::Rank recv_from(base::Rank rank, std::uint32_t step) const override {
    return other(rank, at_start_[(place_[rank.value] + ranks() - step) % ranks()]);
  }

 private:
  static base::Rank other(base::Rank self, base::Rank partner) {
    return partner == self ? base::Rank::none() : partner;
  }

  std::vector<std::uint32_t> start_;  // [rank] position in the hierarchical order
  std::vector<base::Rank> at_start_;  // and back
  std::vector<base::Rank> row_;       // [place]
  std::vector<std::uint32_t> place_;  // [rank]
};

}  // namespace

SchedulePtr make_balanced_staggered(const Grouping& grouping) {
  return std::make_unique<Staggered>(grouping);
}

}  // namespace alm::schedule
