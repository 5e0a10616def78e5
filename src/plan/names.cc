#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <optional>
#include <span>
#include <utility>

#include "plan/plan.h"

namespace alm::plan {
namespace {

template <class T>
using Name = std::pair<T, std::string_view>;

// What may stand after the name and a colon.
enum class Shape { kNone, kNumber, kNumbers };
enum class Knows { kRanks, kSites };

struct Entry {
  Algorithm algorithm;
  std::string_view name;
  Shape shape;
  Knows knows;
};

constexpr Entry kEntries[] = {
#define ALM_ALGORITHM(enumerator, name, maker, shape, knows) \
  {Algorithm::enumerator, name, shape, knows},
#include "plan/algorithms.def"
#undef ALM_ALGORITHM
};

constexpr Name<Algorithm> kAlgorithms[] = {
#define ALM_ALGORITHM(enumerator, name, maker, shape, knows) {Algorithm::enumerator, name},
#include "plan/algorithms.def"
#undef ALM_ALGORITHM
};

constexpr std::size_t kShapeMax = 8;  // numbers

// "8x4"; nothing: it is no shape.
std::optional<std::vector<std::uint32_t>> parse_shape(std::string_view text) {
  std::vector<std::uint32_t> shape;
  while (true) {
    std::uint32_t number = 0;
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (wrong != std::errc() || number == 0 || shape.size() == kShapeMax) return std::nullopt;
    shape.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.empty()) return shape;
    if (text.front() != 'x') return std::nullopt;
    text.remove_prefix(1);
  }
}

constexpr Name<Permutation> kPermutations[] = {
    {Permutation::kShift, "shift"},
    {Permutation::kXor, "xor"},
    {Permutation::kEdgeColouring, "edge-colouring"},
    {Permutation::kBalanced, "balanced"},
};

template <class T>
base::Result<T> parse(std::span<const Name<T>> names, std::string_view what,
                      std::string_view name) {
  std::string valid;
  for (const auto& [value, text] : names) {
    if (text == name) return value;
    valid += (valid.empty() ? "" : ", ") + std::string(text);
  }
  return base::bad_input(fmt::format("unknown {} `{}`; expected one of: {}", what, name, valid));
}

template <class T>
std::string_view find_name(std::span<const Name<T>> names, T value) {
  for (const auto& [candidate, text] : names) {
    if (candidate == value) return text;
  }
  return "";
}

}  // namespace

base::Result<Algorithm> parse_algorithm(std::string_view name) {
  return parse<Algorithm>(kAlgorithms, "algorithm", name);
}

base::Result<Permutation> parse_permutation(std::string_view name) {
  return parse<Permutation>(kPermutations, "permutation", name);
}

std::string_view name_of(Algorithm algorithm) {
  return find_name<Algorithm>(kAlgorithms, algorithm);
}

bool knows_sites(Algorithm algorithm) {
  return kEntries[static_cast<std::size_t>(algorithm)].knows == Knows::kSites;
}

std::string_view name_of(Permutation permutation) {
  return find_name<Permutation>(kPermutations, permutation);
}

base::Result<Named> parse_named(std::string_view text) {
  const auto colon = text.find(':');
  const auto algorithm = parse_algorithm(text.substr(0, colon));
  if (!algorithm) return algorithm.error();
  Named named{algorithm.value(), {}};
  if (colon == std::string_view::npos) return named;
  const Shape allowed = kEntries[static_cast<std::size_t>(named.algorithm)].shape;
  const auto shape = parse_shape(text.substr(colon + 1));
  const std::size_t most = allowed == Shape::kNone ? 0 : allowed == Shape::kNumber ? 1 : kShapeMax;
  if (!shape || shape->size() > most) {
    constexpr std::string_view kExpected[] = {"no number after it", "one number, as in `{}:4`",
                                              "numbers, as in `{}:8x4`"};
    const auto expected = fmt::format(fmt::runtime(kExpected[static_cast<std::size_t>(allowed)]),
                                      name_of(named.algorithm));
    return base::bad_input(
        fmt::format("`{}`: `{}` takes {}", text, name_of(named.algorithm), expected));
  }
  named.shape = *shape;
  return named;
}

std::string text_of_shape(std::span<const std::uint32_t> shape) {
  return fmt::format("{}", fmt::join(shape, "x"));
}

std::string text_of(const Plan& plan) {
  const auto name = name_of(plan.algorithm);
  if (plan.phases.front().reach != Reach::kAny) return plan.identity;
  if (!plan.phases.front().direct())
    return fmt::format("{} {}", name, fmt::join(plan.shape, " x "));
  if (plan.algorithm == Algorithm::kDirect) return std::string(name);
  return fmt::format("{} ({})", name, name_of(plan.permutation));
}

}  // namespace alm::plan
