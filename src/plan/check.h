// Proves a plan: takes the plans of all ranks of an exchange and carries every block through them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace alm::plan {

// Messages and blocks that cross from one part of a level of the network to another.
struct Crossings {
  std::uint64_t messages = 0;
  std::uint64_t blocks = 0;  // whole ones, or parts

  friend bool operator==(const Crossings&, const Crossings&) = default;
};

struct Proof {
  // The first thing wrong, with its phase and ranks; empty: every block arrives, whole and once,
  // and sender and receiver agree on each message.
  std::string wrong;
  std::vector<Crossings> crossings;  // by level of `leaf_of`
  std::uint64_t messages = 0;        // all, those in memory included
};

// `plans` lies by rank. O(ranks^2) memory.
Proof prove(std::span<const Plan> plans, const LeafOf& leaf_of = {});

}  // namespace alm::plan
