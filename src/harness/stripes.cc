#include "harness/stripes.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace alm::harness {

using paths::PathRule;

namespace {

constexpr bool is_adaptive(PathRule rule) {
  return rule == PathRule::kBss || rule == PathRule::kHsam;
}
constexpr bool is_striped(PathRule rule) { return is_adaptive(rule) || rule == PathRule::kEven; }

std::uint32_t batch_of(const paths::PathSetup& setup) {
  if (setup.rule != PathRule::kBss) return setup.paths;
  return setup.batch > 0 ? setup.batch : paths::default_batch(setup.paths);
}

}  // namespace

base::Status check_striping(PathRule rule) {
  if (is_striped(rule) || rule == PathRule::kOne || rule == PathRule::kRotate ||
      rule == PathRule::kRandom) {
    return {};
  }
  return base::bad_input(fmt::format(
      "path policy `{}` chooses for each packet, and stripes are cut before they are sent; "
      "expected one, rotate, random, even, bss or hsam",
      paths::name_of(rule)));
}

// As in the paper no bound on a change.
Striping::Striping(const paths::PathSetup& setup, double alpha)
    : setup_(setup),
      weights_(setup.paths, batch_of(setup), alpha),
      whole_(is_striped(setup.rule) ? nullptr : paths::make_path_policy(setup)),
      turn_(static_cast<std::uint8_t>(setup.seed % setup.paths)) {}

std::vector<Stripe> Striping::cut(std::uint64_t bytes, std::uint64_t small) {
  const paths::PathSet all = paths::all_paths(setup_.paths);
  if (whole_) return {{whole_->choose(all), 1, bytes}};
  if (bytes <= small) {
    turn_ = paths::next_path(all, turn_);
    return {{turn_, 1, bytes}};
  }
  std::vector<Stripe> stripes;
  double sum = 0;
  for (const std::uint8_t path : weights_.batch(all, turn_)) {
    stripes.push_back({path, weights_.weight(path), 0});
    sum += stripes.back().weight;
  }
  // Whole bytes; the stripes end where the sums of the weights do.
  double before = 0;
  std::uint64_t from = 0;
  for (Stripe& stripe : stripes) {
    before += stripe.weight;
    const bool last = &stripe == &stripes.back();
    const auto to =
        last ? bytes : static_cast<std::uint64_t>(static_cast<double>(bytes) * before / sum);
    stripe.bytes = to - from;
    from = to;
  }
  return stripes;
}

void Striping::completed(const std::vector<Stripe>& stripes, const std::vector<sim::Picos>& times) {
  if (!is_adaptive(setup_.rule) || stripes.size() < 2) return;
  std::vector<std::uint8_t> batch;
  std::vector<double> seen;
  for (std::size_t i = 0; i < stripes.size(); ++i) {
    batch.push_back(stripes[i].path);
    seen.push_back(std::max(1.0, static_cast<double>(times[i])));
  }
  weights_.update(batch, seen);
}

}  // namespace alm::harness
