#include "paths/bss.h"

#include <algorithm>

namespace alm::paths {
namespace {

constexpr double kChangeMax = 1.25;
constexpr double kRelax = 1.0 / 64;
constexpr std::uint32_t kVisitPackets = 8;    // of each path
constexpr std::uint32_t kPatienceFactor = 4;  // so many visits long a path may bring nothing
constexpr double kLossFactor = 2;             // a lost packet counts as one that came so much later
constexpr double kKeepsAfterTimeout = 0.125;

}  // namespace

BssPaths::BssPaths(const PathSetup& setup, std::uint32_t batch)
    : weights_(setup.paths, batch, kAlpha, kChangeMax),
      first_(static_cast<std::uint8_t>(setup.seed % setup.paths)) {}

std::uint8_t BssPaths::choose(PathSet usable) {
  if (batch_.empty() || usable_ != usable) begin_visit(usable);
  // The path that is furthest behind its share.
  std::size_t best = 0;
  double least = kUnbounded;
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    const double behind = (stripes_[i].sent + 0.5) / weights_.weight(batch_[i]);
    if (behind >= least) continue;
    least = behind;
    best = i;
  }
  return batch_[best];
}

void BssPaths::begin_visit(PathSet usable) {
  usable_ = usable;
  batch_ = weights_.batch(usable, first_);
  stripes_.assign(batch_.size(), {});
  came_ = 0;
  longest_ = 0;
}

void BssPaths::sent(std::uint8_t path) {
  const auto at = std::find(batch_.begin(), batch_.end(), path);
  if (at != batch_.end()) ++stripes_[static_cast<std::size_t>(at - batch_.begin())].sent;
}

void BssPaths::delivered(std::uint8_t path, base::Nanos delay) {
  note(path, std::max(1.0, static_cast<double>(delay)));
}

void BssPaths::lost(std::uint8_t path) {
  if (longest_ > 0) note(path, kLossFactor * longest_);
}

void BssPaths::note(std::uint8_t path, double delay) {
  const auto at = std::find(batch_.begin(), batch_.end(), path);
  if (at == batch_.end()) return;
  Stripe& stripe = stripes_[static_cast<std::size_t>(at - batch_.begin())];
  ++stripe.came;
  stripe.delays += delay;
  longest_ = std::max(longest_, delay);
  ++came_;
  const auto enough = static_cast<std::uint32_t>(batch_.size()) * kVisitPackets;
  if (came_ < enough) return;
  const bool all_heard =
      std::all_of(stripes_.begin(), stripes_.end(), [](const Stripe& one) { return one.came > 0; });
  if (all_heard || came_ >= kPatienceFactor * enough) end_visit();
}

void BssPaths::end_visit() {
  std::vector<double> times;
  for (const Stripe& stripe : stripes_) {
    times.push_back(stripe.came > 0 ? stripe.delays / stripe.came : kLossFactor * longest_);
  }
  weights_.update(batch_, times);
  weights_.relax(kRelax);
  batch_.clear();
}

void BssPaths::timed_out(std::uint8_t path) {
  weights_.demote(path, kKeepsAfterTimeout, usable_);
  batch_.clear();
}

}  // namespace alm::paths
