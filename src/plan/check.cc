#include "plan/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

namespace alm::plan {
namespace {

struct Part {
  std::uint64_t begin = 0, end = 0;
};

Part part_of(const Move& move) {
  return {move.offset,
          move.length == Move::kToTheEnd ? Move::kToTheEnd : move.offset + move.length};
}

std::string text_of(const Move& move) {
  return fmt::format("block {} to {} from byte {} on", move.origin.value, move.destination.value,
                     move.offset);
}

class Carrying {
 public:
  Carrying(std::span<const Plan> plans, const LeafOf& leaf_of)
      : plans_(plans), leaf_of_(leaf_of), ranks_(static_cast<std::uint32_t>(plans.size())) {
    held_.resize(plans.size());
    for (std::uint32_t origin = 0; origin < ranks_; ++origin) {
      for (std::uint32_t to = 0; to < ranks_; ++to) {
        if (to != origin) held_[origin][key(origin, to)] = {{0, Move::kToTheEnd}};
      }
    }
    proof_.crossings.resize(leaf_of.size());
  }

  Proof run() {
    const std::size_t phases = plans_.empty() ? 0 : plans_.front().phases.size();
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
      const Plan& plan = plans_[rank];
      if (plan.phases.size() != phases || plan.ranks != ranks_ || plan.self.value != rank) {
        refuse(fmt::format("the plan of rank {} is not one of {} ranks in {} phases", rank, ranks_,
                           phases));
      }
    }
    for (phase_ = 0; phase_ < phases && good(); ++phase_) carry();
    for (std::uint32_t to = 0; to < ranks_ && good(); ++to) arrived(to);
    return std::move(proof_);
  }

 private:
  using Held = std::map<std::uint64_t, std::vector<Part>>;

  std::uint64_t key(std::uint32_t origin, std::uint32_t to) const {
    return std::uint64_t{origin} * ranks_ + to;
  }
  bool good() const { return proof_.wrong.empty(); }
  void refuse(const std::string& what) {
    if (good()) proof_.wrong = what;
  }

  // Everybody sends what it held before the phase.
  void carry() {
    std::vector<Held> come(plans_.size());
    for (std::uint32_t rank = 0; rank < ranks_ && good(); ++rank) {
      const Phase& phase = plans_[rank].phases[phase_];
      if (phase.rank_of(phase.self).value != rank) {
        return refuse(fmt::format("phase {}: rank {} is not the member it says", phase_, rank));
      }
      expected(rank, phase);
      for (std::size_t i = 0; i < phase.rounds.send.size() && good(); ++i) {
        send(rank, phase, i, come);
      }
    }
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
      for (auto& [block, parts] : come[rank]) {
        auto& all = held_[rank][block];
        all.insert(all.end(), parts.begin(), parts.end());
      }
    }
  }

  void send(std::uint32_t rank, const Phase& phase, std::size_t i, std::vector<Held>& come) {
    Move direct, same;
    const std::uint32_t to = phase.rank_of(phase.rounds.send[i]).value;
    const auto moves = phase.sends(i, direct);
    const auto theirs = received_by(to, rank, same);
    if (!theirs || !std::equal(moves.begin(), moves.end(), theirs->begin(), theirs->end())) {
      return refuse(fmt::format("phase {}: rank {} sends rank {} another message than that expects",
                                phase_, rank, to));
    }
    for (const Move& move : moves) {
      if (!take(held_[rank], move)) {
        return refuse(
            fmt::format("phase {}: rank {} does not have {}", phase_, rank, text_of(move)));
      }
      come[to][key(move.origin.value, move.destination.value)].push_back(part_of(move));
    }
    ++proof_.messages;
    for (std::size_t level = 0; level < leaf_of_.size(); ++level) {
      if (leaf_of_[level][rank] == leaf_of_[level][to]) continue;
      ++proof_.crossings[level].messages;
      proof_.crossings[level].blocks += moves.size();
    }
  }

  // A message that nobody sends would be waited for.
  void expected(std::uint32_t rank, const Phase& phase) {
    for (const base::PeerId peer : phase.rounds.recv) {
      const std::uint32_t from = phase.rank_of(peer).value;
      const Phase& theirs = plans_[from].phases[phase_];
      const auto sends = [&](base::PeerId to) { return theirs.rank_of(to).value == rank; };
      if (std::count_if(theirs.rounds.send.begin(), theirs.rounds.send.end(), sends) != 1) {
        refuse(fmt::format("phase {}: rank {} does not send rank {} the one message it expects",
                           phase_, from, rank));
      }
    }
  }

  std::optional<std::span<const Move>> received_by(std::uint32_t to, std::uint32_t from,
                                                   Move& direct) const {
    const Phase& phase = plans_[to].phases[phase_];
    for (std::size_t i = 0; i < phase.rounds.recv.size(); ++i) {
      if (phase.rank_of(phase.rounds.recv[i]).value == from) return phase.receives(i, direct);
    }
    return std::nullopt;
  }

  // False: that part is not there. What remains of what it was taken from stays.
  static bool take(Held& held, const Move& move, std::uint64_t block) {
    auto& parts = held[block];
    const Part wanted = part_of(move);
    for (Part& part : parts) {
      if (wanted.begin < part.begin || wanted.end > part.end) continue;
      const Part rest{wanted.end, part.end};
      part.end = wanted.begin;
      if (rest.begin < rest.end) parts.push_back(rest);
      std::erase_if(parts, [](const Part& one) { return one.begin == one.end; });
      return true;
    }
    return false;
  }
  bool take(Held& held, const Move& move) const {
    return take(held, move, key(move.origin.value, move.destination.value));
  }

  void arrived(std::uint32_t to) {
    for (std::uint32_t origin = 0; origin < ranks_; ++origin) {
      if (origin == to) continue;
      auto parts = held_[to][key(origin, to)];
      std::sort(parts.begin(), parts.end(),
                [](const Part& a, const Part& b) { return a.begin < b.begin; });
      std::uint64_t end = 0;
      for (const Part& part : parts) {
        if (part.begin < end) {
          return refuse(
              fmt::format("block {} to {} arrives twice from byte {} on", origin, to, part.begin));
        }
        if (part.begin > end) break;
        end = part.end;
      }
      if (end != Move::kToTheEnd) {
        return refuse(fmt::format("block {} to {} does not arrive", origin, to));
      }
    }
  }

  std::span<const Plan> plans_;
  const LeafOf& leaf_of_;
  std::uint32_t ranks_;
  std::size_t phase_ = 0;
  std::vector<Held> held_;  // by rank: blocks, and parts of them
  Proof proof_;
};

}  // namespace

Proof prove(std::span<const Plan> plans, const LeafOf& leaf_of) {
  return Carrying(plans, leaf_of).run();
}

}  // namespace alm::plan
