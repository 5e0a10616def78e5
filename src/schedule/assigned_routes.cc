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

std::uint32_t pod(const EqualRoutes& routes, base::PeerId member) {
  return routes.pod_of.empty() ? 0 : routes.pod_of[routes.leaf_of[member]];
}

std::uint32_t pods_of(const EqualRoutes& routes) {
  if (routes.pod_of.empty()) return 1;
  return *std::max_element(routes.pod_of.begin(), routes.pod_of.end()) + 1;
}

// First over the middle routers, so that each leaf's links are loaded alike; then what goes by the
// middle routers of one number over the tops behind them, so that theirs are.
std::vector<std::uint32_t> spread(const EqualRoutes& routes, std::span<const Block> blocks) {
  std::vector<LeafSend> sends;
  sends.reserve(blocks.size());
  for (const Block& block : blocks) {
    sends.push_back({routes.leaf_of[block.from], routes.leaf_of[block.to]});
  }
  auto route = spread_over_routes(sends, leaves_of(routes.leaf_of), routes.middles);
  if (routes.tops == 1) return route;
  for (std::uint32_t middle = 0; middle < routes.middles; ++middle) {
    sends.clear();
    std::vector<std::size_t> which;
    for (std::size_t k = 0; k < blocks.size(); ++k) {
      const std::uint32_t from = pod(routes, blocks[k].from), to = pod(routes, blocks[k].to);
      if (route[k] != middle || from == to) continue;
      sends.push_back({from, to});
      which.push_back(k);
    }
    const auto top = spread_over_routes(sends, pods_of(routes), routes.tops);
    // Numbers of middles stay below those of routes: marked until all have been looked at.
    for (std::size_t k = 0; k < which.size(); ++k) route[which[k]] += routes.middles * top[k];
  }
  for (std::uint32_t& one : route) {
    one = one % routes.middles * routes.tops + one / routes.middles;
  }
  return route;
}

// Bytes by route: up from each leaf and down to each, and the same of pods.
class Loads {
 public:
  explicit Loads(const EqualRoutes& routes)
      : routes_(routes),
        leaves_(2 * std::size_t{leaves_of(routes.leaf_of)} * routes.middles),
        pods_(2 * std::size_t{pods_of(routes)} * routes.count()) {}

  void add(const Block& block, std::uint32_t route) {
    for (std::uint64_t* const load : loads(block, route)) {
      if (load != nullptr) most_ = std::max(most_, *load += block.bytes);
    }
  }
  std::uint32_t least(const Block& block) {
    // Within a pod nothing goes by a top.
    const std::uint32_t step =
        pod(routes_, block.from) == pod(routes_, block.to) ? routes_.tops : 1;
    std::uint32_t best = 0;
    std::array<std::uint64_t, 2> least{UINT64_MAX, UINT64_MAX};
    for (std::uint32_t route = 0; route < routes_.count(); route += step) {
      std::array<std::uint64_t, 2> load{0, 0};
      for (const std::uint64_t* const one : loads(block, route)) {
        if (one == nullptr) continue;
        load = {std::max(load[0], *one), load[1] + *one};
      }
      if (load >= least) continue;
      least = load;
      best = route;
    }
    return best;
  }
  std::uint64_t most() const { return most_; }

 private:
  // Up and down at the leaves, up and down at the pods; null: not passed.
  std::array<std::uint64_t*, 4> loads(const Block& block, std::uint32_t route) {
    const std::uint32_t middle = route / routes_.tops;
    const auto at_leaf = [&](base::PeerId member, std::size_t way) {
      const std::size_t leaf = routes_.leaf_of[member];
      return &leaves_[2 * (leaf * routes_.middles + middle) + way];
    };
    std::array<std::uint64_t*, 4> all{at_leaf(block.from, 0), at_leaf(block.to, 1), nullptr,
                                      nullptr};
    const std::size_t from = pod(routes_, block.from), to = pod(routes_, block.to);
    if (from != to) {
      all[2] = &pods_[2 * (from * routes_.count() + route)];
      all[3] = &pods_[2 * (to * routes_.count() + route) + 1];
    }
    return all;
  }

  const EqualRoutes& routes_;
  std::vector<std::uint64_t> leaves_, pods_;
  std::uint64_t most_ = 0;
};

}  // namespace

std::vector<std::uint8_t> assign_routes(const EqualRoutes& routes,
                                        std::span<const std::vector<base::PeerId>> sends) {
  const Leaves leaf_of = routes.leaf_of;
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
    const auto route = spread(routes, step);
    for (std::size_t k = 0; k < step.size(); ++k) {
      out[step[k].from * leaf_of.size() + step[k].to] = static_cast<std::uint8_t>(route[k]);
    }
  }
  return out;
}

std::vector<std::uint8_t> assign_routes_to_blocks(const EqualRoutes& routes,
                                                  std::span<const std::uint64_t> bytes) {
  const Leaves leaf_of = routes.leaf_of;
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
  auto even = spread(routes, blocks);
  std::vector<std::uint32_t> greedy(blocks.size());
  Loads by_pairs(routes), by_bytes(routes);
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
