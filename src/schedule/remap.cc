// The contention-aware remap (000 Eq 5): the partner of r in step i is phi^-1(f(phi(r), i)) for a
// schedule f, where phi(r) is the place of r in the interleaved order; with equal leaves that is
// phi(r) = floor(r / d1) + (r mod d1) * d2. (000 Algorithm 2 omits phi^-1 and then addresses
// logical ids.) A relabelling: the number of steps, idling and pairing are those of f. Costs O(p)
// memory.
//
// Consecutive logical ids lie below different leaves, so a host's consecutive partners do. For
// shift, and for XOR where the number of leaves is a power of two, with d2 equal leaves of d1: at
// most d1 packets on any uplink in a step and (d2-1)*d1 in any d2 consecutive steps, each way.
#include <utility>
#include <vector>

#include "schedule/interleave.h"
#include "schedule/schedule.h"

namespace alm::schedule {
namespace {

class Remapped final : public Schedule {
 public:
  Remapped(SchedulePtr inner, const Grouping& grouping)
      : Schedule(inner->ranks(), inner->steps(), inner->pairs()),
        inner_(std::move(inner)),
        physical_(interleaved(grouping)),
        logical_(physical_.size()) {
    for (std::uint32_t i = 0; i < physical_.size(); ++i) logical_[physical_[i].value] = {i};
  }

  base::Rank send_to(base::Rank rank, std::uint32_t step) const override {
    return physical(inner_->send_to(logical_[rank.value], step));
  }
  base::Rank recv_from(base::Rank rank, std::uint32_t step) const override {
    return physical(inner_->recv_from(logical_[rank.value], step));
  }

 private:
  base::Rank physical(base::Rank logical) const {
    return logical.valid() ? physical_[logical.value] : logical;
  }

  SchedulePtr inner_;
  std::vector<base::Rank> physical_, logical_;
};

}  // namespace

SchedulePtr make_remapped(SchedulePtr inner, const Grouping& grouping) {
  return std::make_unique<Remapped>(std::move(inner), grouping);
}

}  // namespace alm::schedule
