#include "plan/uneven.h"

#include <algorithm>
#include <cassert>
#include <optional>

#include "schedule/decompose.h"
#include "schedule/interleave.h"

namespace alm::plan {
namespace {

// The finer the unit, the more evenly loads are dealt out, and the longer it takes to do so.
constexpr std::uint64_t kUnitsMax = 4096;
// Decomposing the loads of so many ranks takes about as long as sending 50 KB to each of them.
constexpr double kUneven = 1.1;
// A port that is asked for all it can carry, acknowledgements besides, never gets rid of a queue.
// At a host's port packets come one by one; at an uplink those of several hosts meet by chance.
constexpr std::uint64_t kSparePercent = 3;
constexpr std::uint64_t kLinkSparePercent = 6;

using base::Rank;

struct Load {
  std::uint64_t fullest = 0;  // row or column without the diagonal
  std::uint64_t total = 0;
};

Load load_of(std::span<const std::uint64_t> amounts, std::uint32_t ranks) {
  Load load;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    std::uint64_t out = 0;
    std::uint64_t in = 0;
    for (std::uint32_t peer = 0; peer < ranks; ++peer) {
      if (peer == rank) continue;
      out += amounts[std::size_t{rank} * ranks + peer];
      in += amounts[std::size_t{peer} * ranks + rank];
    }
    load.fullest = std::max({load.fullest, out, in});
    load.total += out;
  }
  return load;
}

// One unit to or from a peer, at a place among all units.
struct Slot {
  std::uint64_t place;
  std::uint32_t peer;
};

class Dealer {
 public:
  explicit Dealer(const UnevenRequest& request)
      : request_(request),
        ranks_(request.ranks),
        self_(request.self.value),
        packets_(request.bytes.size()) {
    std::transform(request.bytes.begin(), request.bytes.end(), packets_.begin(),
                   [&](std::uint64_t bytes) {
                     return (bytes + request.packet_bytes - 1) / request.packet_bytes;
                   });
  }

  Uneven run() {
    choose_unit();
    deal();
    Uneven out;
    out.steps = places_ * unit_;
    out.send = trains(send_, true);
    out.recv = trains(recv_, false);
    return out;
  }

 private:
  std::uint64_t packets(std::uint32_t from, std::uint32_t to) const {
    return packets_[std::size_t{from} * ranks_ + to];
  }

  void choose_unit() {
    const std::uint64_t fullest = load_of(packets_, ranks_).fullest;
    unit_ = std::max<std::uint64_t>(request_.grain_packets, (fullest + kUnitsMax - 1) / kUnitsMax);
  }

  void deal() {
    std::vector<std::uint32_t> units(packets_.size());
    std::transform(packets_.begin(), packets_.end(), units.begin(), [&](std::uint64_t packets) {
      return static_cast<std::uint32_t>((packets + unit_ - 1) / unit_);
    });
    const auto parts = schedule::decompose(units, ranks_);
    const std::uint64_t at_hosts = std::max(parts.steps, schedule::steps_min(units, ranks_));
    const std::uint64_t at_links = (request_.link_steps + unit_ - 1) / unit_;
    places_ = std::max(at_hosts + at_hosts * kSparePercent / 100,
                       at_links + at_links * kLinkSparePercent / 100);
    std::vector<std::uint32_t> shares;
    for (const auto& matching : parts.matchings) shares.push_back(matching.steps);
    shares.push_back(static_cast<std::uint32_t>(places_ - parts.steps));  // nobody sends
    const auto order = schedule::fair_sequence(shares);
    std::vector<std::uint32_t> from_of(parts.matchings.size());
    for (std::size_t i = 0; i < from_of.size(); ++i) {
      const auto& to = parts.matchings[i].to;
      from_of[i] = self_;
      for (std::uint32_t from = 0; from < ranks_; ++from) {
        if (from != self_ && to[from] == self_) from_of[i] = from;
      }
    }
    for (std::uint64_t place = 0; place < order.size(); ++place) {
      if (order[place] == from_of.size()) continue;
      const std::uint32_t to = parts.matchings[order[place]].to[self_];
      const std::uint32_t from = from_of[order[place]];
      if (to != self_) send_.push_back({place, to});
      if (from != self_) recv_.push_back({place, from});
    }
    if (!parts.rest.empty()) deal_rest(parts.rest);
  }

  // Each pair's rest, evenly over all places.
  void deal_rest(std::span<const std::uint32_t> rest) {
    const auto spread = [&](std::vector<Slot>& slots, std::uint32_t peer, std::uint32_t count) {
      for (std::uint64_t i = 0; i < count; ++i) {
        slots.push_back({(2 * i + 1) * places_ / (2 * std::uint64_t{count}), peer});
      }
    };
    for (std::uint32_t peer = 0; peer < ranks_; ++peer) {
      if (peer == self_) continue;
      spread(send_, peer, rest[std::size_t{self_} * ranks_ + peer]);
      spread(recv_, peer, rest[std::size_t{peer} * ranks_ + self_]);
    }
    const auto earlier = [](const Slot& a, const Slot& b) { return a.place < b.place; };
    std::stable_sort(send_.begin(), send_.end(), earlier);
    std::stable_sort(recv_.begin(), recv_.end(), earlier);
  }

  // A pair may have more slots than it needs: the first ones count, on both sides.
  std::vector<Train> trains(const std::vector<Slot>& slots, bool sending) const {
    std::vector<std::uint64_t> left(ranks_);
    for (std::uint32_t peer = 0; peer < ranks_; ++peer) {
      left[peer] = sending ? packets(self_, peer) : packets(peer, self_);
    }
    std::vector<Train> trains;
    for (const Slot& slot : slots) {
      const auto count = static_cast<std::uint32_t>(std::min(left[slot.peer], unit_));
      if (count == 0) continue;
      left[slot.peer] -= count;
      trains.push_back({slot.peer, count, slot.place * unit_});
    }
    return trains;
  }

  const UnevenRequest& request_;
  std::uint32_t ranks_, self_;
  std::vector<std::uint64_t> packets_;
  std::uint64_t unit_ = 1;  // packets
  std::uint64_t places_ = 0;
  std::vector<Slot> send_, recv_;
};

}  // namespace

Uneven make_uneven(const UnevenRequest& request) {
  assert(request.ranks >= 2 && request.self.value < request.ranks);
  assert(request.bytes.size() == std::size_t{request.ranks} * request.ranks);
  return Dealer(request).run();
}

void set_steps(Plan& plan, const Uneven& steps) {
  for (Phase& phase : plan.phases) {
    std::vector<std::optional<base::PeerId>> sends(plan.ranks), receives(plan.ranks);
    for (const base::PeerId peer : phase.rounds.send) sends[phase.rank_of(peer).value] = peer;
    for (const base::PeerId peer : phase.rounds.recv) receives[phase.rank_of(peer).value] = peer;
    const auto take = [](const std::vector<Train>& all, const auto& peers) {
      std::vector<Train> own;
      for (const Train& train : all) {
        if (peers[train.peer]) own.push_back({*peers[train.peer], train.packets, train.step});
      }
      return own;
    };
    phase.rounds.trains = take(steps.send, sends);
    phase.rounds.arrivals = take(steps.recv, receives);
    phase.rounds.steps = steps.steps;
  }
}

bool uneven_pays(std::span<const std::uint64_t> bytes, std::uint32_t ranks) {
  if (ranks < 2 || ranks > kUnevenRanksMax) return false;
  const Load load = load_of(bytes, ranks);
  return static_cast<double>(load.fullest) * ranks > kUneven * static_cast<double>(load.total);
}

bool unshared(std::span<const std::uint64_t> bytes, std::uint32_t ranks) {
  std::vector<std::uint32_t> from(ranks), to(ranks);
  for (std::uint32_t sender = 0; sender < ranks; ++sender) {
    for (std::uint32_t receiver = 0; receiver < ranks; ++receiver) {
      if (sender == receiver || bytes[sender * std::size_t{ranks} + receiver] == 0) continue;
      if (++from[sender] > 1 || ++to[receiver] > 1) return false;
    }
  }
  return true;
}

}  // namespace alm::plan
