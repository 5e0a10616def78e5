// What a process counts of its exchanges: for each MPI function, size class and way the calls,
// their times and the part of the bound that they reach. Memory is fixed, whatever a program calls.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/time.h"
#include "tally/histogram.h"

namespace alm::tally {

enum class Function : std::uint8_t {
  kAlltoall,
  kAlltoallv,
  kAlltoallw,
  kIalltoall,
  kIalltoallv,
  kIalltoallw,
  kNeighborAlltoall,
  kNeighborAlltoallv,
  kNeighborAlltoallw,
  kIneighborAlltoall,
  kIneighborAlltoallv,
  kIneighborAlltoallw,
  kAlltoallInit,
  kAlltoallvInit,
  kAlltoallwInit,
};
std::string_view name_of(Function function);
bool is_persistent(Function function);
// By the name of the function, "MPI_Alltoallv".
Function function_of(std::string_view name);

// How exchanges went, as text: "grid 8 x 4 over UDP", or why allemande did not carry them.
using WayId = std::uint8_t;
constexpr WayId kNoWay = 0;

// Filled in by who decides on a call.
struct Taken {
  WayId way = kNoWay;
  base::Nanos bound = 0;  // 0: not known
};

struct Line {
  Function function = Function::kAlltoall;
  std::uint8_t width = 0;  // of the bytes to each rank, as in tuning::SizeClass; 0: no bytes
  WayId way = kNoWay;
  std::uint64_t calls = 0;
  base::Nanos time = 0;
  // Sums over the calls whose bound is known.
  base::Nanos bound = 0, time_of_bound = 0;
  Histogram times;

  std::uint64_t least_bytes() const { return width == 0 ? 0 : std::uint64_t{1} << (width - 1); }
  std::uint64_t most_bytes() const { return width == 0 ? 0 : least_bytes() - 1 + least_bytes(); }
};

// Thread-safe.
class Tally {
 public:
  static constexpr std::size_t kLines = 96;
  static constexpr std::size_t kWays = 64;

  // Until then nothing is counted, and nothing costs memory.
  void begin(base::Nanos now);
  bool counts() const { return lines_ != nullptr; }

  // The number of this text. Where there are too many, the rest shares the last one.
  WayId way(std::string_view text);
  const std::string& text_of(WayId way) const { return ways_[way]; }

  // `time` below 0: not known.
  void note(Function function, std::uint64_t bytes, Taken taken, base::Nanos time);

  // For who may not wait for a lock, because the thread that holds it was interrupted: counts may
  // be those of a moment ago.
  std::size_t size() const { return used_.load(std::memory_order_acquire); }
  const Line& line(std::size_t index) const { return (*lines_)[index]; }
  base::Nanos begun() const { return begun_; }

 private:
  Line& line_of(Function function, std::uint8_t width, WayId way);

  std::mutex mutex_;
  base::Nanos begun_ = 0;
  std::unique_ptr<std::array<Line, kLines>> lines_;
  std::atomic<std::size_t> used_ = 0;
  std::array<std::uint8_t, 256> slots_{};  // by a hash of what a line is of: its index + 1
  std::array<std::string, kWays> ways_;
  std::size_t ways_used_ = 1;
};

}  // namespace alm::tally
