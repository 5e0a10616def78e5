#include "paths/policy.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cassert>
#include <string>
#include <utility>

#include "paths/assigned.h"
#include "paths/bitmap.h"
#include "paths/bss.h"
#include "paths/even.h"
#include "paths/least_loaded.h"
#include "paths/one.h"
#include "paths/random.h"
#include "paths/recycled.h"
#include "paths/rotate.h"

namespace alm::paths {
namespace {

constexpr std::uint32_t kMost = 32;

constexpr std::array<std::pair<PathRule, std::string_view>, 10> kNames{{
    {PathRule::kOne, "one"},
    {PathRule::kRotate, "rotate"},
    {PathRule::kRandom, "random"},
    {PathRule::kLeastLoaded, "least-loaded"},
    {PathRule::kEven, "even"},
    {PathRule::kBss, "bss"},
    {PathRule::kHsam, "hsam"},
    {PathRule::kRecycled, "recycled"},
    {PathRule::kBitmap, "bitmap"},
    {PathRule::kAssigned, "assigned"},
}};

}  // namespace

base::Result<PathRule> parse_path_rule(std::string_view name) {
  std::string valid;
  for (const auto& [rule, known] : kNames) {
    if (known == name) return rule;
    valid += (valid.empty() ? "" : ", ") + std::string(known);
  }
  return base::bad_input(fmt::format("path policy `{}` is unknown; expected {}", name, valid));
}

std::string_view name_of(PathRule rule) {
  for (const auto& [known, name] : kNames) {
    if (known == rule) return name;
  }
  return {};
}

base::Status check_paths(std::uint32_t paths, std::uint32_t batch) {
  if (paths < 1 || paths > kMost) {
    return base::bad_input(fmt::format(
        "{} paths; 1 to {} are possible, as the header has 5 bits for them", paths, kMost));
  }
  if (batch > paths) {
    return base::bad_input(fmt::format(
        "a batch of {} paths, but there are only {}; expected 1 to {}, or 0 for a quarter of them",
        batch, paths, paths));
  }
  return {};
}

std::uint32_t default_batch(std::uint32_t paths) { return (paths + 3) / 4; }

std::uint8_t next_path(PathSet set, std::uint8_t path) {
  assert(set != 0);
  const PathSet above = path >= kMost - 1 ? 0 : set & ~all_paths(path + 1u);
  return static_cast<std::uint8_t>(std::countr_zero(above != 0 ? above : set));
}

std::unique_ptr<PathPolicy> make_path_policy(const PathSetup& setup) {
  assert(check_paths(setup.paths, setup.batch));
  switch (setup.rule) {
    case PathRule::kOne:
      return std::make_unique<OnePath>();
    case PathRule::kRotate:
      return std::make_unique<RotatedPaths>(setup);
    case PathRule::kRandom:
      return std::make_unique<RandomPaths>(setup);
    case PathRule::kLeastLoaded:
      return std::make_unique<LeastLoadedPath>(setup);
    case PathRule::kEven:
      return std::make_unique<EvenPaths>(setup);
    case PathRule::kBss:
      return std::make_unique<BssPaths>(setup,
                                        setup.batch > 0 ? setup.batch : default_batch(setup.paths));
    case PathRule::kHsam:
      return std::make_unique<BssPaths>(setup, setup.paths);
    case PathRule::kRecycled:
      return std::make_unique<RecycledPaths>(setup);
    case PathRule::kBitmap:
      return std::make_unique<PenaltyBitmap>(setup);
    case PathRule::kAssigned:
      break;
  }
  return std::make_unique<AssignedPath>(setup);
}

}  // namespace alm::paths
