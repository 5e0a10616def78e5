#include "schedule/assigned_routes.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "schedule/spread_over_routes.h"

namespace alm::schedule {
namespace {

using Leaves = std::span<const std::uint32_t>;

struct Block {
  base::PeerId from = 0, to = 0;
  std::uint64_t bytes = 0;
};

bool crosses(Leaves leaf_of, base::PeerId from, base::PeerId to) {
  return leaf_of[from] != kNoLeaf && leaf_of[to] != kNoLeaf && leaf_of[from] != leaf_of[to];
}

std::uint32_t leaves_of(Leaves leaf_of) {
  std::uint32_t leaves = 0;
  for (const std::uint32_t leaf : leaf_of) {
    if (leaf != kNoLeaf) leaves = std::max(leaves, leaf + 1);
  }
  return leaves;
}

std::vector<std::uint32_t> spread(Leaves leaf_of, std::uint32_t routes,
                                  std::span<const Block> blocks) {
  std::vector<schedule::LeafSend> sends;
  sends.reserve(blocks.size());
  for (const Block& block : blocks) sends.push_back({leaf_of[block.from], leaf_of[block.to]});
  return spread_over_routes(sends, leaves_of(leaf_of), routes);
}

// Bytes by route, up from each leaf and down to each.
class Loads {
 public:
  Loads(Leaves leaf_of, std::uint32_t routes)
      : leaf_of_(leaf_of),
        routes_(routes),
        up_(std::size_t{leaves_of(leaf_of)} * routes),
        down_(up_) {}

  void add(const Block& block, std::uint32_t route) {
    auto [up, down] = both(block, route);
    most_ = std::max({most_, *up += block.bytes, *down += block.bytes});
  }
  std::uint32_t least(const Block& block) {
    std::uint32_t best = 0;
    std::array<std::uint64_t, 2> least{UINT64_MAX, UINT64_MAX};
    for (std::uint32_t route = 0; route < routes_; ++route) {
      const auto [up, down] = both(block, route);
      const std::array load{std::max(*up, *down), *up + *down};
      if (load >= least) continue;
      least = load;
      best = route;
    }
    return best;
  }
  std::uint64_t most() const { return most_; }

 private:
  std::pair<std::uint64_t*, std::uint64_t*> both(const Block& block, std::uint32_t route) {
    return {&up_[std::size_t{leaf_of_[block.from]} * routes_ + route],
            &down_[std::size_t{leaf_of_[block.to]} * routes_ + route]};
  }

  Leaves leaf_of_;
  std::uint32_t routes_;
  std::vector<std::uint64_t> up_, down_;
  std::uint64_t most_ = 0;
};

}  // namespace

std::vector<std::uint8_t> assign_routes(std::span<const std::uint32_t> leaf_of,
                                        std::uint32_t routes,
                                        std::span<const std::vector<base::PeerId>> sends) {
  std::vector<std::uint8_t> out(leaf_of.size() * leaf_of.size(), kNoRoute);
  std::size_t steps = 0;
  for (const auto& of_one : sends) steps = std::max(steps, of_one.size());
  std::vector<Block> step;
  for (std::size_t i = 0; i < steps; ++i) {
    step.clear();
    for (base::PeerId from = 0; from < sends.size(); ++from) {
      if (i >= sends[from].size() || !crosses(leaf_of, from, sends[from][i])) continue;
      step.push_back({from, sends[from][i], 1});
    }
    const auto route = spread(leaf_of, routes, step);
    for (std::size_t k = 0; k < step.size(); ++k) {
      out[step[k].from * leaf_of.size() + step[k].to] = static_cast<std::uint8_t>(route[k]);
    }
  }
  return out;
}

std::vector<std::uint8_t> assign_routes_to_blocks(std::span<const std::uint32_t> leaf_of,
                                                  std::uint32_t routes,
                                                  std::span<const std::uint64_t> bytes) {
  const std::size_t members = leaf_of.size();
  std::vector<Block> blocks;
  for (base::PeerId from = 0; from < members; ++from) {
    for (base::PeerId to = 0; to < members; ++to) {
      const std::uint64_t size = bytes[from * members + to];
      if (size > 0 && crosses(leaf_of, from, to)) blocks.push_back({from, to, size});
    }
  }
  std::stable_sort(blocks.begin(), blocks.end(),
                   [](const Block& a, const Block& b) { return a.bytes > b.bytes; });
  auto even = spread(leaf_of, routes, blocks);
  std::vector<std::uint32_t> greedy(blocks.size());
  Loads by_pairs(leaf_of, routes), by_bytes(leaf_of, routes);
  for (std::size_t k = 0; k < blocks.size(); ++k) {
    by_pairs.add(blocks[k], even[k]);
    by_bytes.add(blocks[k], greedy[k] = by_bytes.least(blocks[k]));
  }
  const auto& route = by_pairs.most() <= by_bytes.most() ? even : greedy;
  std::vector<std::uint8_t> out(members * members, kNoRoute);
  for (std::size_t k = 0; k < blocks.size(); ++k) {
    out[blocks[k].from * members + blocks[k].to] = static_cast<std::uint8_t>(route[k]);
  }
  return out;
}

}  // namespace alm::schedule
