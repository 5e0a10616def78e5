#include "plan/bruck.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <map>
#include <optional>

#include "plan/rounds.h"

namespace alm::plan {
namespace {

// A distance in the mixed radix: how far its block goes in each phase, modulo the ranks.
class Digits {
 public:
  Digits(std::uint32_t ranks, std::span<const std::uint32_t> radices, bool both_ways)
      : ranks_(ranks), radices_(radices), both_ways_(both_ways) {}

  std::vector<std::uint32_t> shifts(std::uint32_t distance) const {
    std::vector<std::uint32_t> shifts(radices_.size() + 1);
    if (both_ways_ && 2 * distance == ranks_) {
      shifts.front() = distance;
      return shifts;
    }
    auto rest = static_cast<std::int64_t>(distance);
    if (both_ways_ && 2 * distance > ranks_) rest -= ranks_;
    std::int64_t weight = 1;
    for (std::size_t phase = 0; phase < radices_.size(); ++phase) {
      const std::int64_t digit = last_digit(rest, radices_[phase]);
      shifts[phase] = modulo(digit * weight);
      rest = (rest - digit) / radices_[phase];
      weight *= radices_[phase];
    }
    shifts.back() = modulo(rest * weight);
    return shifts;
  }

 private:
  std::int64_t last_digit(std::int64_t number, std::int64_t radix) const {
    const std::int64_t least = both_ways_ ? -(radix / 2) : 0;
    return ((number - least) % radix + radix) % radix + least;
  }
  std::uint32_t modulo(std::int64_t number) const {
    const auto ranks = static_cast<std::int64_t>(ranks_);
    return static_cast<std::uint32_t>((number % ranks + ranks) % ranks);
  }

  std::uint32_t ranks_;
  std::span<const std::uint32_t> radices_;
  bool both_ways_;
};

Bruck::Phase make_phase(const std::map<std::uint32_t, std::vector<std::uint32_t>>& by_shift) {
  Bruck::Phase phase;
  phase.begin.push_back(0);
  for (const auto& [shift, blocks] : by_shift) {
    phase.shift.push_back(shift);
    phase.block.insert(phase.block.end(), blocks.begin(), blocks.end());
    phase.begin.push_back(static_cast<std::uint32_t>(phase.block.size()));
  }
  return phase;
}

// The largest distance either way, but for p/2.
std::uint32_t reach(std::uint32_t ranks) { return (ranks - 1) / 2; }

// Values the last digit takes beside 0, both ways, when those before it cover `product` distances.
std::uint32_t last_partners(std::uint32_t ranks, std::uint32_t product) {
  const std::uint32_t covered = product / 2;
  return covered >= reach(ranks) ? 0 : 2 * ((reach(ranks) - covered + product - 1) / product);
}

class RadixSearch {
 public:
  explicit RadixSearch(std::uint32_t ranks) : ranks_(ranks) {}

  // The radices before the last for so many phases; nothing: fewer phases do.
  std::optional<std::vector<std::uint32_t>> run(std::size_t phases) {
    best_.reset();
    least_ = 0;
    extend(phases - 1, 1, 0);
    return best_;
  }

 private:
  void extend(std::size_t left, std::uint32_t product, std::uint32_t partners) {
    if (left == 0) {
      const std::uint32_t last = last_partners(ranks_, product);
      if (last == 0 || (best_ && partners + last >= least_)) return;
      least_ = partners + last;
      best_ = radices_;
      return;
    }
    // Every phase before the last leaves something to do.
    for (std::uint32_t radix = 3; product * radix / 2 < reach(ranks_); radix += 2) {
      radices_.push_back(radix);
      extend(left - 1, product * radix, partners + radix - 1);
      radices_.pop_back();
    }
  }

  std::uint32_t ranks_;
  std::vector<std::uint32_t> radices_;
  std::optional<std::vector<std::uint32_t>> best_;
  std::uint32_t least_ = 0;
};

}  // namespace

Bruck make_bruck(std::uint32_t ranks, std::span<const std::uint32_t> radices, bool both_ways) {
  assert(ranks >= 1);
  const Digits digits(ranks, radices, both_ways);
  std::vector<std::map<std::uint32_t, std::vector<std::uint32_t>>> by_shift(radices.size() + 1);
  for (std::uint32_t distance = 1; distance < ranks; ++distance) {
    const auto shifts = digits.shifts(distance);
    for (std::size_t phase = 0; phase < shifts.size(); ++phase) {
      if (shifts[phase] != 0) by_shift[phase][shifts[phase]].push_back(distance);
    }
  }
  Bruck bruck{ranks, {radices.begin(), radices.end()}, {}};
  for (const auto& phase : by_shift) {
    if (!phase.empty()) bruck.phases.push_back(make_phase(phase));
  }
  return bruck;
}

Bruck make_uniform_bruck(std::uint32_t ranks, std::uint32_t radix) {
  assert(radix >= 2);
  std::vector<std::uint32_t> radices;
  for (std::uint64_t product = radix; product < ranks; product *= radix) radices.push_back(radix);
  return make_bruck(ranks, radices, false);
}

std::vector<Bruck> make_brucks(std::uint32_t ranks) {
  std::vector<Bruck> brucks;
  RadixSearch search(ranks);
  for (std::size_t phases = 2; phases <= kBruckPhasesMax; ++phases) {
    const auto radices = search.run(phases);
    if (!radices) break;
    brucks.push_back(make_bruck(ranks, *radices, true));
  }
  return brucks;
}

namespace {

// A block has gone the shifts of the phases before, from its origin.
void append_phases(Plan& plan, const Bruck& bruck) {
  const std::uint32_t ranks = plan.ranks;
  const auto before = [&](std::uint32_t rank, std::uint32_t distance) {
    return base::Rank{(rank + ranks - distance) % ranks};
  };
  std::vector<std::uint32_t> gone(ranks);  // by distance
  for (const Bruck::Phase& of_bruck : bruck.phases) {
    Phase& phase = plan.phases.emplace_back();
    phase.self = plan.self.value;
    for (std::size_t i = 0; i < of_bruck.shift.size(); ++i) {
      const std::uint32_t shift = of_bruck.shift[i];
      const auto message = [&](std::uint32_t sender) {
        std::vector<Move> moves;
        for (std::uint32_t b = of_bruck.begin[i]; b < of_bruck.begin[i + 1]; ++b) {
          const std::uint32_t distance = of_bruck.block[b];
          const base::Rank origin = before(sender, gone[distance]);
          moves.push_back({origin, {(origin.value + distance) % ranks}});
        }
        return moves;
      };
      append_send(phase, (plan.self.value + shift) % ranks, message(plan.self.value));
      const std::uint32_t from = before(plan.self.value, shift).value;
      append_receive(phase, from, message(from));
    }
    for (std::size_t i = 0; i < of_bruck.shift.size(); ++i) {
      for (std::uint32_t b = of_bruck.begin[i]; b < of_bruck.begin[i + 1]; ++b) {
        std::uint32_t& far = gone[of_bruck.block[b]];
        far = (far + of_bruck.shift[i]) % ranks;
      }
    }
  }
}

}  // namespace

std::vector<std::uint32_t> shape_of(const Bruck& bruck) {
  std::vector<std::uint32_t> shape;
  for (const auto& phase : bruck.phases) {
    shape.push_back(static_cast<std::uint32_t>(phase.shift.size()) + 1);
  }
  return shape;
}

base::Status plan_bruck(const Request& request, Plan& plan) {
  if (request.shape.empty()) {
    auto brucks = make_brucks(request.ranks);
    const Bruck bruck =
        brucks.empty() ? make_bruck(request.ranks, {}, true) : std::move(brucks.front());
    plan.shape = shape_of(bruck);
    append_phases(plan, bruck);
    return {};
  }
  // The radix of the first digit is odd; that many partners and 1 are as many, or one more.
  std::vector<std::uint32_t> radices(request.shape.begin(), request.shape.end() - 1);
  if (!radices.empty()) radices.front() -= radices.front() % 2 == 0 ? 1 : 0;
  const bool odd = std::all_of(radices.begin(), radices.end(),
                               [](std::uint32_t radix) { return radix % 2 == 1 && radix >= 3; });
  if (odd && radices.size() < kBruckPhasesMax) {
    const Bruck bruck = make_bruck(request.ranks, radices, true);
    plan.shape = shape_of(bruck);
    if (plan.shape == request.shape) {
      append_phases(plan, bruck);
      return {};
    }
  }
  return base::bad_input(
      fmt::format("`bruck:{}` does not fit {} ranks; expected up to {} numbers: odd ones of 3 or "
                  "more, and last "
                  "what they leave to do{}",
                  text_of_shape(request.shape), request.ranks, kBruckPhasesMax,
                  odd ? ", as in `bruck:" + text_of_shape(plan.shape) + "`" : ""));
}

base::Status plan_one_way_bruck(const Request& request, Plan& plan) {
  const std::uint32_t radix = request.shape.empty() ? 2 : request.shape.front();
  if (radix < 2) {
    return base::bad_input(fmt::format("`one-way-bruck:{}`: expected a radix of 2 or more", radix));
  }
  plan.shape = {radix};
  append_phases(plan, make_uniform_bruck(request.ranks, radix));
  return {};
}

}  // namespace alm::plan
