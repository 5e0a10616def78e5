#include "mpi/trial.h"

#include <algorithm>

namespace alm::mpi {
namespace {

// Both ways so often: the first native call opens connections, and a late rank spoils a pair.
constexpr std::uint32_t kPairs = 3;
// One sighting is enough where a native call costs this long and twice as much as ours.
constexpr base::Nanos kDear = 20 * base::kMillisecond;
constexpr base::Nanos kTwice = 2;
// Ours is kept unless the native way is clearly faster: it also spares those who share the network.
constexpr double kClearly = 0.95;
// After a decision the ranks compare at calls 64, 256, 1024, ...
constexpr std::uint64_t kFirstLook = 64;
constexpr std::uint64_t kLookGrowth = 4;
constexpr double kDrift = 1.5;
constexpr base::Nanos kSmoothing = 8;

base::Nanos less_of(base::Nanos known, base::Nanos time) {
  return known == 0 ? time : std::min(known, time);
}

}  // namespace

Way Trial::way() const {
  if (decided_) return chosen_;
  return times_.size() % 2 == 0 ? Way::kOurs : Way::kNative;
}

void Trial::took(base::Nanos time) {
  if (!decided_) {
    times_.push_back(time);
    due_ = times_.size() == 2;
    return;
  }
  recent_ = recent_ == 0 ? time : recent_ + (time - recent_) / kSmoothing;
  if (++calls_ < next_look_) return;
  times_ = {recent_};
  due_ = true;
}

void Trial::agree(const std::vector<base::Nanos>& slowest) {
  due_ = false;
  times_.clear();
  if (decided_) {
    next_look_ *= kLookGrowth;
    const auto allowed = static_cast<double>(best(chosen_)) * kDrift;
    if (static_cast<double>(slowest[0]) <= allowed) return;
    decided_ = false;
    pairs_ = 0;
    ours_ = native_ = 0;
    ++reopened_;
    return;
  }
  ours_ = less_of(ours_, slowest[0]);
  native_ = less_of(native_, slowest[1]);
  ++pairs_;
  const bool hopeless = slowest[1] >= kDear && native_ > kTwice * ours_;
  if (pairs_ == kPairs || hopeless) decide();
}

void Trial::decide() {
  decided_ = true;
  const bool native = static_cast<double>(native_) < kClearly * static_cast<double>(ours_);
  chosen_ = native ? Way::kNative : Way::kOurs;
  calls_ = 0;
  next_look_ = kFirstLook;
  recent_ = 0;
}

}  // namespace alm::mpi
