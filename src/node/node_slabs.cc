#include "node/node_slabs.h"

#include <algorithm>

namespace alm::node {
namespace {

// At the least: room for pieces of this size.
constexpr std::uint64_t kPieceBytesMin = 128;

class Slabs {
 public:
  Slabs(Node& node, SlabData& data, std::uint64_t slabs, const NodeCall& call, std::uint64_t first)
      : node_(node), data_(data), slabs_(slabs), call_(call), first_(first) {}

  base::Status run() {
    for (std::uint64_t slab = 0; slab < std::min<std::uint64_t>(2, slabs_); ++slab) {
      if (auto staged = stage(slab); !staged) return staged;
    }
    return node_.local_rank() < call_.leaders ? lead() : follow();
  }

 private:
  base::Status stage(std::uint64_t slab) {
    const std::uint64_t turn = first_ + slab;
    if (auto ready = node_.ready_to_post(turn); !ready) return ready;
    data_.copy_in(slab, node_.memory().slab(turn, true));
    node_.post(turn, call_);
    return {};
  }

  base::Status finish(std::uint64_t slab) {
    const std::uint64_t turn = first_ + slab;
    data_.copy_out(slab, node_.memory().slab(turn, true), node_.memory().slab(turn, false));
    node_.take(turn);
    return slab + 2 < slabs_ ? stage(slab + 2) : base::Status{};
  }

  base::Status follow() {
    for (std::uint64_t slab = 0; slab < slabs_; ++slab) {
      if (auto come = node_.await_delivery(first_ + slab); !come) return come;
      if (auto finished = finish(slab); !finished) return finished;
    }
    return {};
  }

  // One slab behind the others, so that the network does not wait for copies. What one leader has
  // found in the first slab may end the call: the second waits for all of them, and later ones do
  // by what leaders put in.
  base::Status lead() {
    for (std::uint64_t slab = 0; slab < slabs_; ++slab) {
      const std::uint64_t turn = first_ + slab;
      if (auto posted = node_.await_posts(turn, call_); !posted) return posted;
      auto done =
          data_.exchange(slab, node_.memory().slab(turn, true), node_.memory().slab(turn, false));
      if (!done) {
        node_.fail(done.error(), data_.lost());
        return done;
      }
      node_.deliver(turn);
      if (slab > 0) {
        if (auto finished = finish(slab - 1); !finished) return finished;
      }
      if (slab > 0 && slab + 1 < slabs_) continue;
      if (auto whole = node_.await_delivery(turn); !whole) return whole;
    }
    return finish(slabs_ - 1);
  }

  Node& node_;
  SlabData& data_;
  std::uint64_t slabs_;
  const NodeCall& call_;
  std::uint64_t first_;
};

}  // namespace

NodeShape node_shape(const plan::Placement& placement, std::uint32_t host,
                     std::uint64_t slab_bytes_min) {
  const std::uint64_t blocks = std::uint64_t{placement.most()} * placement.rank_count();
  const std::uint64_t least = kPieceBytesMin * blocks + kMessageHeadBytes * placement.hosts();
  return {placement.count(host), placement.rank_count(), placement.hosts(),
          std::max(slab_bytes_min, least)};
}

base::Status run_slabs(Node& node, SlabData& data, std::uint64_t slabs, const NodeCall& call,
                       std::uint64_t& turn) {
  auto done = Slabs(node, data, slabs, call, turn).run();
  turn += slabs;
  return done;
}

}  // namespace alm::node
