#include "tcp/window.h"

#include <algorithm>

namespace alm::tcp {

using base::Nanos;

namespace {

constexpr std::uint64_t kLeast = 2 * Window::kUnit;  // of the threshold
// RFC 9438: beta 0.7, C 0.4, alpha 3 (1 - beta) / (1 + beta) = 9/17.
constexpr std::uint64_t kBetaTenths = 7, kTenths = 10;
constexpr std::uint64_t kRenoParts = 9, kRenoOf = 17;
constexpr std::uint64_t kShiftDctcp = 4;  // g = 1/16

// C t^3, in units, of a time in microseconds.
std::uint64_t cubed(Nanos micros) {
  const auto t = static_cast<unsigned __int128>(micros);
  constexpr unsigned __int128 kMicrosCubed = 1'000'000'000'000'000'000u;
  return static_cast<std::uint64_t>(t * t * t * Window::kUnit * 4 / (10 * kMicrosCubed));
}

}  // namespace

std::uint64_t cube_root(unsigned __int128 cube) {
  std::uint64_t root = 0;
  constexpr int kTopBit = 41;  // the third power of twice that still fits
  for (int bit = kTopBit; bit >= 0; --bit) {
    const std::uint64_t tried = root | (std::uint64_t{1} << bit);
    const auto wide = static_cast<unsigned __int128>(tried);
    if (wide * wide * wide <= cube) root = tried;
  }
  return root;
}

void Window::acknowledged(std::uint32_t segments, Nanos now, Nanos round_trip) {
  std::uint64_t left = segments;
  while (left > 0 && in_slow_start()) {
    size_ = std::min(size_ + kUnit, threshold_);
    --left;
  }
  if (left == 0) return;
  if (control_ == Control::kCubic) {
    grow_cubic(static_cast<std::uint32_t>(left), now, round_trip);
  } else {
    size_ += left * kUnit * kUnit / size_;
  }
}

void Window::begin_epoch(Nanos now) {
  epoch_ = now;
  reno_ = size_;
  rise_ = 0;
  if (plateau_ <= size_) {
    plateau_ = size_;
    return;
  }
  // K^3 = (W_max - cwnd) / C, in microseconds.
  constexpr unsigned __int128 kMicrosCubed = 1'000'000'000'000'000'000u;
  const unsigned __int128 cube = (plateau_ - size_) * (kMicrosCubed / kUnit) * 10 / 4;
  rise_ = static_cast<Nanos>(cube_root(cube)) * base::kMicrosecond;
}

std::uint64_t Window::cubic_at(Nanos since_epoch) const {
  const Nanos apart = (since_epoch - rise_) / base::kMicrosecond;
  if (apart >= 0) return plateau_ + cubed(apart);
  const std::uint64_t below = cubed(-apart);
  return below < plateau_ ? plateau_ - below : 0;
}

void Window::grow_cubic(std::uint32_t segments, Nanos now, Nanos round_trip) {
  if (epoch_ == base::kNever) begin_epoch(now);
  // Once it has its earlier window back, NewReno's share grows as NewReno does.
  const std::uint64_t each = segments * kUnit * kUnit / size_;
  reno_ += reno_ < prior_ ? each * kRenoParts / kRenoOf : each;
  const Nanos since = now - epoch_;
  if (cubic_at(since) < reno_) {
    size_ = std::max(size_, reno_);
    return;
  }
  const std::uint64_t target = std::clamp(cubic_at(since + round_trip), size_, size_ * 3 / 2);
  size_ += segments * (target - size_) * kUnit / size_;
}

void Window::cut(std::uint64_t to) {
  prior_ = size_;
  if (control_ == Control::kCubic) {
    // Fast convergence: a window that has not come back to where it was leaves room to others.
    plateau_ = size_ < plateau_ ? size_ * (kTenths + kBetaTenths) / (2 * kTenths) : size_;
  }
  epoch_ = base::kNever;
  threshold_ = std::max(kLeast, to);
  size_ = threshold_;
}

void Window::lost() {
  cut(control_ == Control::kCubic ? size_ * kBetaTenths / kTenths : size_ / 2);
}

void Window::marked() {
  if (control_ != Control::kDctcp) {
    lost();
    return;
  }
  cut(size_ - size_ * alpha_ / (2 * kAlphaOne));
}

void Window::timed_out() {
  // The time-outs that follow find one segment; the threshold is that of the first.
  if (size_ > kUnit) lost();
  size_ = kUnit;
  plateau_ = 0;  // the next stage begins on its plateau
}

void Window::rest(Nanos idle, Nanos timeout, std::uint32_t least) {
  const std::uint64_t floor = std::min(least * kUnit, size_);
  // What it had is where slow start ends (RFC 2861).
  if (idle > timeout && threshold_ != UINT64_MAX) {
    threshold_ = std::max(threshold_, size_ * 3 / 4);
  }
  for (; idle > timeout && size_ > floor; idle -= timeout) size_ = std::max(floor, size_ / 2);
  epoch_ = base::kNever;
}

void Window::weigh_marks(std::uint64_t acknowledged, std::uint64_t with_mark) {
  if (acknowledged == 0) return;
  alpha_ -= alpha_ >> kShiftDctcp;
  alpha_ += with_mark * (kAlphaOne >> kShiftDctcp) / acknowledged;
  alpha_ = std::min(alpha_, kAlphaOne);
}

}  // namespace alm::tcp
