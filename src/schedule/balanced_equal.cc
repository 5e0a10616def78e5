// Balanced, closed form: G leaves of n hosts below one core, p = nG, nobody ever idles.
// Rank (s, h), host h of leaf s. In step i = 1..p-1, with x = floor(i / G) and k = i mod G,
//   (s, h) sends to (s + k + e(h, h') mod G, h'), where h' = P_x(h) if k != 0, else D_x(h).
// P_0..P_{n-1} are permutations of the hosts of a leaf with exactly one fixed point each, together
// taking every h to every h' once; D_1..D_{n-1} have none and together take every h to every h' !=
// h once. e spreads the hosts of a leaf over the leaves:
//   n odd:  P_x(h) = x - h, D_x(h) = h + x, mod n. The pair (h, h') lies in P_c, c = h + h', and in
//           D_b, b = h' - h. e = G-1 - (((b-1 + c) mod (n-1)) mod G).
//   n even: hosts Z_m and an extra one, "inf", m = n-1. D_{y+1}(h) = 2h - y, y -> inf -> y.
//           P_x(h) = 2h - x, x+1 -> inf -> x+2, for x < m; P_m(h) = h + 1, inf -> inf.
//           e = G-1 - (j mod G), j = 0 for h -> inf, 1 for inf -> h', h for h' = h+1, else h' - h.
//   n = 2:  P_0(h) = h; x = 1 swaps the two hosts for every k. e(h, h') = h where h' != h.
//   h' = h: e = 0.
//
// Proof. Every pair once: h -> h' != h occurs with all k: k = 1..G-1 in its P_x and k = 0 in its
// D_x, so a = k + e takes every value once; h -> h occurs with k = 1..G-1 and a = k, never with
// itself. A step is a permutation: h -> h' is one, and for given h, h' leaves are shifted by a
// fixed a. All leaves do the same, so what leaves one equals what enters it. Let f = floor((n-1) /
// G). In P_x the n-1 pairs with h' != h have j = 0..n-2 once each, so e takes each value f or f+1
// times. In D_x the n pairs have the same and one j twice; e = 0 belongs to the rarest residue, so
// it comes f or f+1 times. The pairs with a = 0 stay inside, those with h' = h in P_x never do: f
// or f+1 hosts stay in every step. And f = floor(n(n-1)/(p-1)): f*G <= n-1 gives f(nG-1) <=
// n(n-1); (f+1)G >= n gives (f+1)(nG-1) >= n*n - (f+1) > n(n-1), or n = 1. As nu = n -
// n(n-1)/(p-1), at most n - f = ceil(nu) cross, at least floor(nu). The same count for a != 0: in
// each step a leaf also sends evenly to all other leaves.
#include <cassert>
#include <vector>

#include "schedule/schedule.h"

namespace alm::schedule {
namespace {

// The permutations P_x and D_x of the hosts of one leaf, and e.
class LeafPattern {
 public:
  LeafPattern(std::uint32_t hosts, std::uint32_t leaves) : n_(hosts), m_(hosts - 1), g_(leaves) {}

  std::uint32_t to(std::uint32_t h, std::uint32_t x, bool fixes_one) const {
    if (n_ <= 2) return (h + x) % n_;
    if (n_ % 2 == 1) return fixes_one ? (x + n_ - h) % n_ : (h + x) % n_;
    if (!fixes_one) return doubled(h, x - 1, 0);
    return x < m_ ? doubled(h, x, 1) : next(h);
  }

  std::uint32_t from(std::uint32_t h, std::uint32_t x, bool fixes_one) const {
    if (n_ <= 2) return (h + n_ - x) % n_;
    if (n_ % 2 == 1) return fixes_one ? (x + n_ - h) % n_ : (h + n_ - x) % n_;
    if (!fixes_one) return halved(h, x - 1, 0);
    return x < m_ ? halved(h, x, 1) : before(h);
  }

  std::uint32_t e(std::uint32_t h, std::uint32_t to) const {
    if (h == to) return 0;
    if (n_ == 2) return h % g_;
    return g_ - 1 - index(h, to) % g_;
  }

 private:
  // Pairs with to != h in one P_x have all indices 0..n-2, once each.
  std::uint32_t index(std::uint32_t h, std::uint32_t to) const {
    if (n_ % 2 == 1) {
      const std::uint32_t b = (to + n_ - h) % n_, c = (h + to) % n_;
      return (b - 1 + c) % (n_ - 1);
    }
    if (to == m_) return 0;
    if (h == m_) return 1;
    const std::uint32_t difference = (to + m_ - h) % m_;
    return difference == 1 ? h : difference;
  }

  // h -> 2h - x on Z_m, but x+v -> inf -> x+2v.
  std::uint32_t doubled(std::uint32_t h, std::uint32_t x, std::uint32_t v) const {
    if (h == m_) return (x + 2 * v) % m_;
    if (h == (x + v) % m_) return m_;
    return (2 * h + m_ - x) % m_;
  }
  std::uint32_t halved(std::uint32_t to, std::uint32_t x, std::uint32_t v) const {
    if (to == m_) return (x + v) % m_;
    if (to == (x + 2 * v) % m_) return m_;
    const std::uint32_t twice = (to + x) % m_;
    return (twice % 2 == 0 ? twice : twice + m_) / 2;
  }
  std::uint32_t next(std::uint32_t h) const { return h == m_ ? h : (h + 1) % m_; }
  std::uint32_t before(std::uint32_t h) const { return h == m_ ? h : (h + m_ - 1) % m_; }

  std::uint32_t n_, m_, g_;
};

class BalancedEqual final : public Schedule {
 public:
  explicit BalancedEqual(const Grouping& grouping)
      : Schedule(grouping.ranks(), grouping.ranks() - 1, false),
        leaves_(static_cast<std::uint32_t>(grouping.groups(0))),
        hosts_(grouping.ranks() / leaves_),
        pattern_(hosts_, leaves_),
        order_(grouping.order().begin(), grouping.order().end()),
        position_(grouping.position().begin(), grouping.position().end()) {}

  base::Rank send_to(base::Rank rank, std::uint32_t step) const override {
    const auto [s, h, x, k] = split(rank, step);
    const std::uint32_t to = pattern_.to(h, x, k != 0);
    return at((s + k + pattern_.e(h, to)) % leaves_, to);
  }
  base::Rank recv_from(base::Rank rank, std::uint32_t step) const override {
    const auto [s, h, x, k] = split(rank, step);
    const std::uint32_t from = pattern_.from(h, x, k != 0);
    return at((s + 2 * leaves_ - k - pattern_.e(from, h)) % leaves_, from);
  }

 private:
  struct Split {
    std::uint32_t s, h, x, k;
  };
  Split split(base::Rank rank, std::uint32_t step) const {
    const std::uint32_t position = position_[rank.value], i = step + 1;
    return {position / hosts_, position % hosts_, i / leaves_, i % leaves_};
  }
  base::Rank at(std::uint32_t s, std::uint32_t h) const { return order_[s * hosts_ + h]; }

  std::uint32_t leaves_, hosts_;
  LeafPattern pattern_;
  std::vector<base::Rank> order_;        // [position]: leaf by leaf
  std::vector<std::uint32_t> position_;  // [rank]
};

}  // namespace

SchedulePtr make_balanced_equal(const Grouping& grouping) {
  assert(grouping.equal_leaves());
  return std::make_unique<BalancedEqual>(grouping);
}

SchedulePtr make_balanced(const Grouping& grouping) {
  if (grouping.levels() == 0) return make_strided_shift(grouping.ranks());
  if (grouping.equal_leaves()) return make_balanced_equal(grouping);
  return make_balanced_staggered(grouping);
}

}  // namespace alm::schedule
