// The congestion window: how many segments may be under way.
//
//   slow start   a segment for each one acknowledged, below the threshold       (RFC 5681, 3465)
//   NewReno      a segment for each window acknowledged; a loss leaves 1/2            (RFC 5681)
//   cubic        C (t - K)^3 + W_max, not below what NewReno would have; 0.7          (RFC 9438)
//   DCTCP        as NewReno; marks leave 1 - alpha / 2, alpha being the part that is
//                marked, smoothed over windows                                        (RFC 8257)
//
// A time-out leaves one segment. What a loss leaves is a part of the window, as in Linux, not of
// what is under way: the window does not open while it is not used (RFC 7661), so that both are
// near each other.
//
// Whole numbers only, so that simulations are the same on all machines.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "tcp/config.h"

namespace alm::tcp {

class Window {
 public:
  static constexpr std::uint64_t kUnit = 1024;  // of a segment
  static constexpr std::uint64_t kAlphaOne = 1 << 20;

  explicit Window(const Config& config)
      : control_(config.control), size_(config.initial_window * kUnit) {}

  std::uint32_t segments() const { return static_cast<std::uint32_t>(size_ / kUnit); }
  std::uint64_t size() const { return size_; }            // in units
  std::uint64_t threshold() const { return threshold_; }  // of slow start, in units
  bool in_slow_start() const { return size_ < threshold_; }
  std::uint64_t alpha() const { return alpha_; }  // DCTCP's, in parts of kAlphaOne

  // So many segments have been acknowledged while the window was what held the sender back.
  void acknowledged(std::uint32_t segments, base::Nanos now, base::Nanos round_trip);
  void lost();       // segments were lost; once per window
  void marked();     // segments were marked; once per window
  void timed_out();  // nothing came back
  // Nothing was sent for so long; the window is halved for each time-out in it, down to `least`
  // segments.
  void rest(base::Nanos idle, base::Nanos timeout, std::uint32_t least);
  // DCTCP: at the end of each window of data, what of it was acknowledged, and with a mark.
  void weigh_marks(std::uint64_t acknowledged, std::uint64_t with_mark);

 private:
  void cut(std::uint64_t to);
  void grow_cubic(std::uint32_t segments, base::Nanos now, base::Nanos round_trip);
  void begin_epoch(base::Nanos now);
  std::uint64_t cubic_at(base::Nanos since_epoch) const;

  Control control_;
  std::uint64_t size_;
  std::uint64_t threshold_ = UINT64_MAX;
  std::uint64_t alpha_ = kAlphaOne;
  // Cubic's. The epoch is a stage of congestion avoidance.
  std::uint64_t plateau_ = 0;  // W_max
  std::uint64_t prior_ = 0;    // the window before the last cut
  std::uint64_t reno_ = 0;     // W_est
  base::Nanos epoch_ = base::kNever;
  base::Nanos rise_ = 0;  // K
};

// The largest whole number whose third power is at most `cube`.
std::uint64_t cube_root(unsigned __int128 cube);

}  // namespace alm::tcp
