#include "schedule/decompose.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

namespace alm::schedule {
namespace {

constexpr std::uint32_t kNobody = ~std::uint32_t{0};
constexpr std::uint32_t kWordBits = 64;
// Falling by halves leaves twice as much at the end.
constexpr double kFall = 0.8;

struct Sums {
  std::vector<std::uint64_t> row, column;
  std::uint64_t most = 0;
};

Sums sums_of(std::span<const std::uint32_t> units, std::uint32_t ranks) {
  Sums sums{std::vector<std::uint64_t>(ranks), std::vector<std::uint64_t>(ranks), 0};
  for (std::uint32_t from = 0; from < ranks; ++from) {
    for (std::uint32_t to = 0; to < ranks; ++to) {
      if (from == to) continue;
      sums.row[from] += units[std::size_t{from} * ranks + to];
      sums.column[to] += units[std::size_t{from} * ranks + to];
    }
  }
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    sums.most = std::max({sums.most, sums.row[rank], sums.column[rank]});
  }
  return sums;
}

class Slicer {
 public:
  Slicer(std::span<const std::uint32_t> units, std::uint32_t ranks)
      : ranks_(ranks),
        words_((ranks + kWordBits - 1) / kWordBits),
        wanted_(units.begin(), units.end()),
        heavy_(std::size_t{ranks} * words_),
        unseen_(words_),
        to_(ranks, kNobody),
        from_(ranks, kNobody) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) wanted_[at(rank, rank)] = 0;
    fill_up();
  }

  Decomposition run() {
    const std::uint32_t most = 4 * ranks_;
    threshold_ = *std::max_element(filled_.begin(), filled_.end());
    mark_heavy();
    while (threshold_ > 0 && out_.matchings.size() < most) {
      if (match_everybody()) {
        slice();
        continue;
      }
      threshold_ = static_cast<std::uint32_t>(threshold_ * kFall);
      mark_heavy();
    }
    if (std::any_of(wanted_.begin(), wanted_.end(), [](auto units) { return units > 0; })) {
      out_.rest = std::move(wanted_);
    }
    return std::move(out_);
  }

 private:
  std::size_t at(std::uint32_t from, std::uint32_t to) const {
    return std::size_t{from} * ranks_ + to;
  }

  // Idling, so that all rows and columns have the same sum: first where there is traffic, which
  // keeps the number of entries small, then anywhere, the diagonal included.
  void fill_up() {
    filled_ = wanted_;
    Sums sums = sums_of(wanted_, ranks_);
    const auto fill = [&](std::uint32_t from, std::uint32_t to) {
      const auto more = std::min(sums.most - sums.row[from], sums.most - sums.column[to]);
      filled_[at(from, to)] += static_cast<std::uint32_t>(more);
      sums.row[from] += more;
      sums.column[to] += more;
    };
    for (const bool anywhere : {false, true}) {
      for (std::uint32_t from = 0; from < ranks_; ++from) {
        for (std::uint32_t i = 0; i < ranks_; ++i) {
          const std::uint32_t to = (from + i) % ranks_;
          if (anywhere || wanted_[at(from, to)] > 0) fill(from, to);
        }
      }
    }
  }

  void mark_heavy() {
    std::fill(heavy_.begin(), heavy_.end(), 0);
    if (threshold_ == 0) return;
    for (std::uint32_t from = 0; from < ranks_; ++from) {
      for (std::uint32_t to = 0; to < ranks_; ++to) {
        if (filled_[at(from, to)] >= threshold_) heavy_word(from, to) |= bit(to);
      }
    }
  }

  static std::uint64_t bit(std::uint32_t to) { return std::uint64_t{1} << (to % kWordBits); }
  std::uint64_t& heavy_word(std::uint32_t from, std::uint32_t to) {
    return heavy_[std::size_t{from} * words_ + to / kWordBits];
  }

  bool match_everybody() {
    for (std::uint32_t from = 0; from < ranks_; ++from) {
      if (to_[from] != kNobody) continue;
      std::fill(unseen_.begin(), unseen_.end(), ~std::uint64_t{0});
      if (!augment(from)) return false;
    }
    return true;
  }

  // An augmenting path from a free row, depth first (Kuhn). As deep as there are ranks at most.
  bool augment(std::uint32_t from) {
    for (std::uint32_t word = 0; word < words_; ++word) {
      for (;;) {
        const std::uint64_t open = heavy_[std::size_t{from} * words_ + word] & unseen_[word];
        if (open == 0) break;
        const auto to = word * kWordBits + static_cast<std::uint32_t>(std::countr_zero(open));
        unseen_[word] &= ~bit(to);
        if (from_[to] != kNobody && !augment(from_[to])) continue;
        from_[to] = from;
        to_[from] = to;
        return true;
      }
    }
    return false;
  }

  void slice() {
    std::uint32_t steps = ~std::uint32_t{0};
    for (std::uint32_t from = 0; from < ranks_; ++from) {
      steps = std::min(steps, filled_[at(from, to_[from])]);
    }
    append(steps, to_);
    for (std::uint32_t from = 0; from < ranks_; ++from) {
      const std::uint32_t to = to_[from];
      filled_[at(from, to)] -= steps;
      if (filled_[at(from, to)] >= threshold_) continue;
      heavy_word(from, to) &= ~bit(to);
      to_[from] = from_[to] = kNobody;
    }
  }

  // What nobody needs is left out; what is idling shows as such.
  void append(std::uint32_t steps, std::span<const std::uint32_t> to) {
    Matching matching{steps, {to.begin(), to.end()}};
    std::uint32_t useful = 0;
    for (std::uint32_t from = 0; from < ranks_; ++from) {
      std::uint32_t& left = wanted_[at(from, to[from])];
      if (left == 0) matching.to[from] = from;
      useful = std::max(useful, std::min(left, steps));
      left -= std::min(left, steps);
    }
    if (useful == 0) return;
    matching.steps = useful;
    out_.steps += useful;
    out_.matchings.push_back(std::move(matching));
  }

  std::uint32_t ranks_;
  std::uint32_t words_;
  std::vector<std::uint32_t> wanted_, filled_;
  std::uint32_t threshold_ = 0;
  std::vector<std::uint64_t> heavy_;  // [from][word]: entries not below the threshold
  std::vector<std::uint64_t> unseen_;
  std::vector<std::uint32_t> to_, from_;
  Decomposition out_;
};

}  // namespace

std::uint64_t steps_min(std::span<const std::uint32_t> units, std::uint32_t ranks) {
  return sums_of(units, ranks).most;
}

Decomposition decompose(std::span<const std::uint32_t> units, std::uint32_t ranks) {
  assert(ranks >= 2 && units.size() == std::size_t{ranks} * ranks);
  return Slicer(units, ranks).run();
}

}  // namespace alm::schedule
