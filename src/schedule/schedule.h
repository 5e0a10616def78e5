// A schedule: in which step each rank sends to, and receives from, each other rank.
//
// Every schedule here is node contention-free (000 section 3.1): in one step no rank sends twice
// and none receives twice; over all steps each ordered pair meets exactly once. Schedules are
// immutable, take O(ranks) memory at most and answer in O(1), so that a rank computes its own part
// alone.
#pragma once

#include <cstdint>
#include <memory>

#include "base/ids.h"
#include "base/result.h"
#include "schedule/grouping.h"

namespace alm::schedule {

class Schedule {
 public:
  virtual ~Schedule() = default;

  // Partners of `rank` in `step`, 0 <= step < steps(); Rank::none() when it idles.
  virtual base::Rank send_to(base::Rank rank, std::uint32_t step) const = 0;
  virtual base::Rank recv_from(base::Rank rank, std::uint32_t step) const = 0;

  std::uint32_t ranks() const { return ranks_; }
  std::uint32_t steps() const { return steps_; }
  // In every step each rank receives from the rank it sends to, so acknowledgements can ride along.
  bool pairs() const { return pairs_; }

 protected:
  Schedule(std::uint32_t ranks, std::uint32_t steps, bool pairs)
      : ranks_(ranks), steps_(steps), pairs_(pairs) {}

 private:
  std::uint32_t ranks_;
  std::uint32_t steps_;
  bool pairs_;
};

using SchedulePtr = std::unique_ptr<const Schedule>;

SchedulePtr make_shift(std::uint32_t ranks);
// The same steps in an order that suits networks of which nothing is known (shift.cc).
SchedulePtr make_strided_shift(std::uint32_t ranks);
SchedulePtr make_xor(std::uint32_t ranks);
SchedulePtr make_edge_colouring(std::uint32_t ranks);

// phi^-1 . inner . phi, where phi spreads each group over the logical ids (000 Eq 5).
SchedulePtr make_remapped(SchedulePtr inner, const Grouping& grouping);

// Loads all uplinks evenly. Equal leaves below one core get the closed form without idle steps, one
// switch the strided shift, all other groupings the staggered form.
SchedulePtr make_balanced(const Grouping& grouping);
SchedulePtr make_balanced_equal(const Grouping& grouping);  // precondition: grouping.equal_leaves()
SchedulePtr make_balanced_staggered(const Grouping& grouping);

}  // namespace alm::schedule
