#include "schedule/grouping.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace alm::schedule {
namespace {

base::Status check_nested(std::span<const std::vector<std::uint32_t>> leaf_of) {
  for (std::size_t level = 0; level + 1 < leaf_of.size(); ++level) {
    std::unordered_map<std::uint32_t, std::uint32_t> above;
    for (std::size_t rank = 0; rank < leaf_of[level].size(); ++rank) {
      const auto [it, is_new] = above.try_emplace(leaf_of[level][rank], leaf_of[level + 1][rank]);
      if (!is_new && it->second != leaf_of[level + 1][rank]) {
        return base::bad_input(fmt::format(
            "rank {} is in group {} of level {} but, unlike others there, in group {} of level {}; "
            "expected nested groups: ranks that share a group share the one above it",
            rank, leaf_of[level][rank], level, leaf_of[level + 1][rank], level + 1));
      }
    }
  }
  return {};
}

bool one_group(const std::vector<std::uint32_t>& labels) {
  return std::adjacent_find(labels.begin(), labels.end(), std::not_equal_to<>()) == labels.end();
}

}  // namespace

base::Result<Grouping> Grouping::make(std::uint32_t ranks,
                                      std::span<const std::vector<std::uint32_t>> leaf_of) {
  for (std::size_t level = 0; level < leaf_of.size(); ++level) {
    if (leaf_of[level].size() != ranks) {
      return base::bad_input(fmt::format("leaf_of[{}] has {} entries; expected one per rank, {}",
                                         level, leaf_of[level].size(), ranks));
    }
  }
  if (base::Status nested = check_nested(leaf_of); !nested) return nested.error();
  Grouping out = one_switch(ranks);
  // Compares the coarsest level first; within a leaf ranks ascend.
  const auto before = [&](base::Rank a, base::Rank b) {
    for (std::size_t level = leaf_of.size(); level-- > 0;) {
      const std::uint32_t in_a = leaf_of[level][a.value], in_b = leaf_of[level][b.value];
      if (in_a != in_b) return in_a < in_b;
    }
    return a < b;
  };
  std::sort(out.order_.begin(), out.order_.end(), before);
  for (std::uint32_t i = 0; i < ranks; ++i) out.position_[out.order_[i].value] = i;
  for (const std::vector<std::uint32_t>& labels : leaf_of) {
    if (one_group(labels)) continue;
    std::vector<std::uint32_t> begins{0};
    for (std::uint32_t i = 1; i < ranks; ++i) {
      if (labels[out.order_[i].value] != labels[out.order_[i - 1].value]) begins.push_back(i);
    }
    begins.push_back(ranks);
    // A chain of switches repeats a partition; once is enough.
    if (out.begins_.empty() || out.begins_.back() != begins) {
      out.begins_.push_back(std::move(begins));
    }
  }
  return out;
}

Grouping Grouping::one_switch(std::uint32_t ranks) {
  Grouping out;
  out.position_.resize(ranks);
  std::iota(out.position_.begin(), out.position_.end(), 0);
  out.order_.reserve(ranks);
  for (std::uint32_t i = 0; i < ranks; ++i) out.order_.push_back({i});
  return out;
}

bool Grouping::equal_leaves() const {
  if (levels() != 1) return false;
  const std::vector<std::uint32_t>& begins = begins_.front();
  for (std::size_t i = 1; i < begins.size(); ++i) {
    if (begins[i] - begins[i - 1] != begins[1]) return false;
  }
  return true;
}

}  // namespace alm::schedule
