#include "schedule/spread_over_routes.h"

#include <algorithm>
#include <array>
#include <cassert>

namespace alm::schedule {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

class Colouring {
 public:
  Colouring(std::span<const LeafSend> sends, std::uint32_t leaves)
      : sends_(sends), colour_(sends.size(), kNone) {
    std::array<std::vector<std::uint32_t>, 2> degree{std::vector<std::uint32_t>(leaves),
                                                     std::vector<std::uint32_t>(leaves)};
    for (const LeafSend& send : sends) {
      colours_ = std::max({colours_, ++degree[0][send.from], ++degree[1][send.to]});
    }
    for (auto& side : edge_) side.assign(std::size_t{leaves} * colours_, kNone);
  }

  std::vector<std::uint32_t> run() {
    for (std::uint32_t send = 0; send < sends_.size(); ++send) add(send);
    return std::move(colour_);
  }

 private:
  std::uint32_t leaf(std::uint32_t send, std::uint32_t side) const {
    return side == 0 ? sends_[send].from : sends_[send].to;
  }
  std::uint32_t& edge(std::uint32_t side, std::uint32_t leaf, std::uint32_t colour) {
    return edge_[side][std::size_t{leaf} * colours_ + colour];
  }
  std::uint32_t free_colour(std::uint32_t side, std::uint32_t leaf) {
    std::uint32_t colour = 0;
    while (edge(side, leaf, colour) != kNone) ++colour;
    assert(colour < colours_);
    return colour;
  }
  void set(std::uint32_t send, std::uint32_t colour) {
    colour_[send] = colour;
    for (std::uint32_t side = 0; side < 2; ++side) edge(side, leaf(send, side), colour) = send;
  }

  void add(std::uint32_t send) {
    const std::uint32_t free_here = free_colour(0, leaf(send, 0));
    const std::uint32_t free_there = free_colour(1, leaf(send, 1));
    // Makes free_here free at the receiver, too: the path that begins there with that colour
    // alternates between the two and cannot reach the sender.
    path_.clear();
    std::uint32_t side = 1;
    std::uint32_t colour = free_here;
    for (std::uint32_t at = leaf(send, 1); edge(side, at, colour) != kNone;) {
      path_.push_back(edge(side, at, colour));
      side = 1 - side;
      at = leaf(path_.back(), side);
      colour = colour == free_here ? free_there : free_here;
    }
    for (const std::uint32_t one : path_) {
      for (std::uint32_t end = 0; end < 2; ++end) edge(end, leaf(one, end), colour_[one]) = kNone;
    }
    for (const std::uint32_t one : path_) {
      set(one, colour_[one] == free_here ? free_there : free_here);
    }
    set(send, free_here);
  }

  std::span<const LeafSend> sends_;
  std::vector<std::uint32_t> colour_;  // by send
  std::uint32_t colours_ = 0;
  std::array<std::vector<std::uint32_t>, 2> edge_;  // [side][leaf * colours_ + colour] its send
  std::vector<std::uint32_t> path_;
};

}  // namespace

std::vector<std::uint32_t> spread_over_routes(std::span<const LeafSend> sends, std::uint32_t leaves,
                                              std::uint32_t routes) {
  std::vector<std::uint32_t> out = Colouring(sends, leaves).run();
  for (std::uint32_t& route : out) route %= routes;
  return out;
}

}  // namespace alm::schedule
