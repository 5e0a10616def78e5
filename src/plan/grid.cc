#include "plan/grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <tuple>

#include "plan/rounds.h"

namespace alm::plan {
namespace {

// Ranks of one leaf side by side, leaves of one switch above side by side, and so on.
std::vector<base::Rank> by_hierarchy(std::uint32_t ranks,
                                     std::span<const std::vector<std::uint32_t>> leaf_of) {
  std::vector<base::Rank> order;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) order.push_back(base::Rank{rank});
  for (const auto& groups : leaf_of) {
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

// Within a line all exchange with all.
base::Rounds line_order(std::uint32_t length, base::PeerId self) {
  return make_plan({.ranks = length, .self = {self}}).value().rounds();
}

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
                             std::span<const std::vector<std::uint32_t>> leaf_of) {
  std::vector<Grid> grids;
  const auto order = by_hierarchy(ranks, leaf_of);
  const auto place =
      static_cast<std::uint32_t>(std::find(order.begin(), order.end(), self) - order.begin());
  GridSearch search(order, leaf_of.empty() ? nullptr : &leaf_of.front());
  for (std::size_t dimensions = 2; dimensions <= kGridDimensionsMax; ++dimensions) {
    auto lengths = search.run(dimensions);
    if (lengths.empty()) break;
    grids.push_back({std::move(lengths), order, place});
  }
  return grids;
}

namespace {

// Blocks stand at places of the grid: between two phases at the place whose coordinates along the
// dimensions done are those of their destination, along the others those of their origin. Held
// blocks are numbered by the other half of both. The block of number `held` at
// `place`, where `done` places differ along the dimensions done:
Move block_at(const Grid& grid, std::uint32_t place, std::uint32_t held, std::uint32_t done) {
  const std::uint32_t origin = held % done + place / done * done;
  const std::uint32_t destination = place % done + held / done * done;
  return {grid.at[origin], grid.at[destination]};
}

// What the rank at `from` hands the rank at `to`, which differs from it along one dimension alone.
std::vector<Move> message(const Grid& grid, std::uint32_t from, std::uint32_t to,
                          std::size_t dimension) {
  const std::uint32_t stride = grid.stride(dimension);
  const std::uint32_t length = grid.lengths[dimension];
  const std::uint32_t others = static_cast<std::uint32_t>(grid.at.size()) / length;
  const std::uint32_t coordinate = grid.coordinate(to, dimension);
  std::vector<Move> moves;
  moves.reserve(others);
  for (std::uint32_t i = 0; i < others; ++i) {
    const std::uint32_t held = i / stride * stride * length + coordinate * stride + i % stride;
    moves.push_back(block_at(grid, from, held, stride));
  }
  return moves;
}

base::Result<Grid> grid_for(const Request& request) {
  if (request.shape.empty()) {
    auto grids = make_grids(request.ranks, request.self, request.leaf_of);
    if (!grids.empty()) return std::move(grids.front());
    return base::bad_input(fmt::format(
        "{} ranks make no grid: they have no divisor; take another algorithm, as `bruck`",
        request.ranks));
  }
  std::uint64_t places = 1;
  for (const std::uint32_t length : request.shape) places *= length;
  const bool sides = std::all_of(request.shape.begin(), request.shape.end(),
                                 [](std::uint32_t length) { return length >= 2; });
  if (!sides || places != request.ranks || request.shape.size() > kGridDimensionsMax) {
    return base::bad_input(
        fmt::format("`grid:{}` is no grid of {} ranks; expected up to {} sides of 2 or more whose "
                    "product it is",
                    text_of_shape(request.shape), request.ranks, kGridDimensionsMax));
  }
  Grid grid{request.shape, by_hierarchy(request.ranks, request.leaf_of), 0};
  grid.place = static_cast<std::uint32_t>(std::find(grid.at.begin(), grid.at.end(), request.self) -
                                          grid.at.begin());
  return grid;
}

}  // namespace

base::Status plan_grid(const Request& request, Plan& plan) {
  const auto made = grid_for(request);
  if (!made) return made.error();
  const Grid& grid = made.value();
  plan.shape = grid.lengths;
  for (std::size_t dimension = 0; dimension < grid.dimensions(); ++dimension) {
    Phase& phase = plan.phases.emplace_back();
    phase.members = grid.line(dimension);
    phase.self = grid.coordinate(grid.place, dimension);
    const auto place_of = [&](base::PeerId peer) {
      return grid.place + (peer - phase.self) * grid.stride(dimension);
    };
    const auto order = line_order(grid.lengths[dimension], phase.self);
    for (const base::PeerId peer : order.send) {
      append_send(phase, peer, message(grid, grid.place, place_of(peer), dimension));
    }
    for (const base::PeerId peer : order.recv) {
      append_receive(phase, peer, message(grid, place_of(peer), grid.place, dimension));
    }
  }
  return {};
}

}  // namespace alm::plan
