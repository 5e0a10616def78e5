#include "tally/tally.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace alm::tally {
namespace {

constexpr std::array<std::string_view, 15> kNames{
    "MPI_Alltoall",           "MPI_Alltoallv",           "MPI_Alltoallw",
    "MPI_Ialltoall",          "MPI_Ialltoallv",          "MPI_Ialltoallw",
    "MPI_Neighbor_alltoall",  "MPI_Neighbor_alltoallv",  "MPI_Neighbor_alltoallw",
    "MPI_Ineighbor_alltoall", "MPI_Ineighbor_alltoallv", "MPI_Ineighbor_alltoallw",
    "MPI_Alltoall_init",      "MPI_Alltoallv_init",      "MPI_Alltoallw_init"};
constexpr std::string_view kOtherWays = "other ways";
constexpr std::uint32_t kMultiplier = 0x9E3779B1;

}  // namespace

std::string_view name_of(Function function) { return kNames[static_cast<std::size_t>(function)]; }

bool is_persistent(Function function) { return name_of(function).ends_with("_init"); }

Function function_of(std::string_view name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  assert(found != kNames.end());
  return static_cast<Function>(found - kNames.begin());
}

void Tally::begin(base::Nanos now) {
  begun_ = now;
  ways_[kNoWay] = "the library's own";
  lines_ = std::make_unique<std::array<Line, kLines>>();
}

WayId Tally::way(std::string_view text) {
  const std::lock_guard lock(mutex_);
  const auto end = ways_.begin() + static_cast<std::ptrdiff_t>(ways_used_);
  const auto found = std::find(ways_.begin(), end, text);
  if (found != end) return static_cast<WayId>(found - ways_.begin());
  if (ways_used_ == kWays) return kWays - 1;
  ways_[ways_used_] = ways_used_ == kWays - 1 ? kOtherWays : text;
  return static_cast<WayId>(ways_used_++);
}

// When all lines are in use, the last one takes the rest.
Line& Tally::line_of(Function function, std::uint8_t width, WayId way) {
  const std::uint32_t key =
      (static_cast<std::uint32_t>(function) << 16) | (static_cast<std::uint32_t>(width) << 8) | way;
  for (std::size_t slot = (key * kMultiplier) >> 24;; slot = (slot + 1) % slots_.size()) {
    if (slots_[slot] == 0) {
      const std::size_t used = used_.load(std::memory_order_relaxed);
      if (used == kLines) return lines_->back();
      Line& made = (*lines_)[used];
      made.function = function;
      made.width = width;
      made.way = way;
      slots_[slot] = static_cast<std::uint8_t>(used + 1);
      used_.store(used + 1, std::memory_order_release);
      return made;
    }
    Line& line = (*lines_)[slots_[slot] - 1u];
    if (line.function == function && line.width == width && line.way == way) return line;
  }
}

void Tally::note(Function function, std::uint64_t bytes, Taken taken, base::Nanos time) {
  const auto width = static_cast<std::uint8_t>(std::bit_width(bytes));
  const std::lock_guard lock(mutex_);
  Line& line = line_of(function, width, taken.way);
  ++line.calls;
  if (time < 0) return;
  line.time += time;
  line.times.add(time);
  if (taken.bound > 0) {
    line.bound += taken.bound;
    line.time_of_bound += time;
  }
}

}  // namespace alm::tally
