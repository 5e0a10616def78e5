#include "sim/flow_shares.h"

#include <algorithm>
#include <cassert>

namespace alm::sim {
namespace {

constexpr double kRising = -1;

}  // namespace

void FlowClasses::clear() {
  uses.clear();
  begin.assign(1, 0);
  flows.clear();
}

void FlowClasses::add(std::span<const std::uint32_t> resources, std::uint32_t count) {
  if (begin.empty()) begin.push_back(0);
  uses.insert(uses.end(), resources.begin(), resources.end());
  begin.push_back(static_cast<std::uint32_t>(uses.size()));
  flows.push_back(count);
}

FairShares::FairShares(std::vector<double> capacity)
    : capacity_(std::move(capacity)),
      taken_(capacity_.size(), 0),
      rising_(capacity_.size(), 0),
      first_(capacity_.size(), 0) {}

// Lists the classes of each resource in use, by counting sort.
void FairShares::count_uses(const FlowClasses& classes) {
  touched_.clear();
  for (const std::uint32_t resource : classes.uses) {
    if (first_[resource]++ == 0) touched_.push_back(resource);
  }
  std::uint32_t next = 0;
  for (const std::uint32_t resource : touched_) {
    const std::uint32_t count = first_[resource];
    first_[resource] = next;
    next += count;
  }
  users_.resize(classes.uses.size());
  for (std::size_t i = 0; i < classes.size(); ++i) {
    for (const std::uint32_t resource : classes.of(i)) {
      users_[first_[resource]++] = static_cast<std::uint32_t>(i);
      rising_[resource] += classes.flows[i];
    }
  }
}

// The rate at which the flows still rising would fill the resource.
double FairShares::level(std::uint32_t resource) const {
  return std::max(0.0, capacity_[resource] - taken_[resource]) / rising_[resource];
}

void FairShares::fill(const FlowClasses& classes, std::vector<double>& rate) {
  rate.assign(classes.size(), kRising);
  count_uses(classes);
  // Smallest level first, then the first resource: the order does not depend on the input's.
  const auto later = [](const Level& a, const Level& b) {
    return a.rate != b.rate ? a.rate > b.rate : a.resource > b.resource;
  };
  heap_.clear();
  for (const std::uint32_t resource : touched_) heap_.push_back({level(resource), resource});
  std::make_heap(heap_.begin(), heap_.end(), later);
  double settled = 0;
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const Level top = heap_.back();
    heap_.pop_back();
    if (rising_[top.resource] == 0) continue;
    // Settling flows below a resource's level only lifts it: an old entry is never too high.
    const double now = level(top.resource);
    if (now > top.rate) {
      heap_.push_back({now, top.resource});
      std::push_heap(heap_.begin(), heap_.end(), later);
      continue;
    }
    settled = std::max(settled, top.rate);  // rounding must not let a later level fall back
    const std::size_t slot = top.resource;
    // first_ has been moved to the end of the resource's classes by count_uses.
    std::uint32_t i = first_[slot];
    while (rising_[slot] > 0) {
      const std::uint32_t user = users_[--i];
      if (rate[user] != kRising) continue;
      rate[user] = settled;
      for (const std::uint32_t resource : classes.of(user)) {
        taken_[resource] += settled * classes.flows[user];
        rising_[resource] -= classes.flows[user];
      }
    }
  }
  assert(std::find(rate.begin(), rate.end(), kRising) == rate.end());
  for (const std::uint32_t resource : touched_) {
    taken_[resource] = 0;
    first_[resource] = 0;
  }
}

}  // namespace alm::sim
