#include <fmt/core.h>

#include <span>
#include <utility>

#include "plan/plan.h"

namespace alm::plan {
namespace {

template <class T>
using Name = std::pair<T, std::string_view>;

constexpr Name<Algorithm> kAlgorithms[] = {
    {Algorithm::kDirect, "direct"},
    {Algorithm::kShiftExchange, "shift-exchange"},
    {Algorithm::kPairwise, "pairwise"},
    {Algorithm::kGroupShuffle, "group-shuffle"},
    {Algorithm::kSyncShuffle, "sync-shuffle"},
};

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

std::string_view name_of(Permutation permutation) {
  return find_name<Permutation>(kPermutations, permutation);
}

}  // namespace alm::plan
