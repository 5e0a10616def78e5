#include "plan/grid.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace alm::plan {
namespace {

// Ranks of one leaf side by side, leaves of one switch above side by side, and so on.
std::vector<base::Rank> by_hierarchy(std::uint32_t ranks,
                                     std::span<const std::vector<std::uint32_t>> group_of) {
  std::vector<base::Rank> order;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) order.push_back(base::Rank{rank});
  for (const auto& groups : group_of) {
    std::stable_sort(order.begin(), order.end(),
                     [&](base::Rank a, base::Rank b) { return groups[a.value] < groups[b.value]; });
  }
  return order;
}

bool within_leaves(const std::vector<base::Rank>& order, std::uint32_t length,
                   const std::vector<std::uint32_t>& leaf_of) {
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (leaf_of[order[i].value] != leaf_of[order[i - i % length].value]) return false;
  }
  return true;
}

class GridSearch {
 public:
  GridSearch(const std::vector<base::Rank>& order, const std::vector<std::uint32_t>* leaf_of)
      : order_(order), leaf_of_(leaf_of) {}

  // The best lengths for so many dimensions; empty: there are none.
  std::vector<std::uint32_t> run(std::size_t dimensions) {
    best_.clear();
    lengths_.clear();
    split(static_cast<std::uint32_t>(order_.size()), dimensions);
    return best_;
  }

 private:
  void split(std::uint32_t rest, std::size_t dimensions) {
    if (dimensions == 1) {
      lengths_.push_back(rest);
      consider();
      lengths_.pop_back();
      return;
    }
    for (std::uint32_t length = 2; length <= rest / 2; ++length) {
      if (rest % length != 0) continue;
      lengths_.push_back(length);
      split(rest / length, dimensions - 1);
      lengths_.pop_back();
    }
  }

  void consider() {
    const std::uint32_t messages = std::accumulate(lengths_.begin(), lengths_.end(), 0u);
    const bool across = leaf_of_ != nullptr && !within_leaves(order_, lengths_.front(), *leaf_of_);
    const auto cost = std::tuple(messages, across, order_.size() - lengths_.front());
    if (!best_.empty() && cost >= least_) return;
    least_ = cost;
    best_ = lengths_;
  }

  const std::vector<base::Rank>& order_;
  const std::vector<std::uint32_t>* leaf_of_;
  std::vector<std::uint32_t> lengths_, best_;
  std::tuple<std::uint32_t, bool, std::size_t> least_;
};

}  // namespace

std::uint32_t Grid::stride(std::size_t dimension) const {
  std::uint32_t stride = 1;
  for (std::size_t d = 0; d < dimension; ++d) stride *= lengths[d];
  return stride;
}

std::vector<base::Rank> Grid::line(std::size_t dimension) const {
  const std::uint32_t step = stride(dimension);
  const std::uint32_t first = place - coordinate(place, dimension) * step;
  std::vector<base::Rank> ranks;
  for (std::uint32_t i = 0; i < lengths[dimension]; ++i) ranks.push_back(at[first + i * step]);
  return ranks;
}

std::vector<Grid> make_grids(std::uint32_t ranks, base::Rank self,
                             std::span<const std::vector<std::uint32_t>> group_of) {
  std::vector<Grid> grids;
  const auto order = by_hierarchy(ranks, group_of);
  const auto place =
      static_cast<std::uint32_t>(std::find(order.begin(), order.end(), self) - order.begin());
  GridSearch search(order, group_of.empty() ? nullptr : &group_of.front());
  for (std::size_t dimensions = 2; dimensions <= kGridDimensionsMax; ++dimensions) {
    auto lengths = search.run(dimensions);
    if (lengths.empty()) break;
    grids.push_back({std::move(lengths), order, place});
  }
  return grids;
}

Traffic grid_traffic(const Grid& grid, std::uint64_t bytes, std::uint32_t packet_bytes) {
  Traffic sum;
  for (const std::uint32_t length : grid.lengths) {
    sum += message_traffic(length - 1, bytes * (grid.at.size() / length), packet_bytes);
  }
  return sum;
}

}  // namespace alm::plan
