#include "execute/course.h"

#include <algorithm>
#include <cassert>
#include <unordered_map>

namespace alm::execute {
namespace {

using plan::Move;
using plan::Phase;

struct Key {
  std::uint32_t origin, destination;
  std::uint64_t offset;
  friend bool operator==(const Key&, const Key&) = default;
};

struct HashKey {
  std::size_t operator()(const Key& key) const {
    constexpr std::uint64_t kMix = 0x9E3779B97F4A7C15u;
    const std::uint64_t pair = std::uint64_t{key.origin} << 32 | key.destination;
    return static_cast<std::size_t>(((pair * kMix) ^ key.offset) * kMix);
  }
};

Key key_of(const Move& move) { return {move.origin.value, move.destination.value, move.offset}; }

std::uint32_t peers_of(const Phase& phase, std::uint32_t ranks) {
  return phase.members.empty() ? ranks : static_cast<std::uint32_t>(phase.members.size());
}

// The number of whole blocks in every message; 0: they differ, or not every peer is a partner.
std::uint32_t equal_moves(const Phase& phase, std::uint32_t peers) {
  const bool all = phase.rounds.send.size() + 1 == peers && phase.rounds.recv.size() + 1 == peers;
  if (!all) return 0;
  if (phase.direct()) return 1;
  const auto whole = [](const Move& move) {
    return move.offset == 0 && move.length == Move::kToTheEnd;
  };
  if (!std::all_of(phase.out.begin(), phase.out.end(), whole)) return 0;
  if (!std::all_of(phase.in.begin(), phase.in.end(), whole)) return 0;
  if (phase.out_begin.size() < 2) return 0;
  const std::uint32_t first = phase.out_begin[1];
  for (const auto* begin : {&phase.out_begin, &phase.in_begin}) {
    for (std::size_t i = 1; i < begin->size(); ++i) {
      if ((*begin)[i] - (*begin)[i - 1] != first) return 0;
    }
  }
  return first;
}

}  // namespace

std::uint64_t Amounts::of(const plan::Plan& plan, base::Rank origin, base::Rank destination) const {
  if (!all.empty()) return all[std::size_t{origin.value} * plan.ranks + destination.value];
  if (!weights.empty()) return each * weights[origin.value] * weights[destination.value];
  if (sends.empty()) return each;
  if (origin == plan.self) return sends[destination.value];
  assert(destination == plan.self && "a rank that forwards has to know all sizes");
  return receives[origin.value];
}

std::uint64_t bytes_of(const plan::Plan& plan, const Amounts& amounts, const Move& move) {
  const std::uint64_t block = amounts.of(plan, move.origin, move.destination);
  return std::min(block - std::min(block, move.offset), move.length);
}

Course::Course(plan::Plan plan) : plan_(std::move(plan)) { resolve(); }

bool Course::takes_part(std::size_t phase) const {
  const base::Rounds& rounds = plan_.phases[phase].rounds;
  return !rounds.send.empty() || !rounds.recv.empty();
}

// Finds, for every move that is sent, the message it comes in; O(moves).
void Course::resolve() {
  struct Held {
    std::uint32_t phase, message, move;
  };
  std::unordered_map<Key, Held, HashKey> held;
  for (std::size_t p = 0; p < plan_.phases.size(); ++p) {
    const Phase& phase = plan_.phases[p];
    PhaseState& state = states_.emplace_back();
    state.peers = peers_of(phase, plan_.ranks);
    state.equal_moves = equal_moves(phase, state.peers);
    if (phase.direct()) continue;
    state.feeds.resize(phase.rounds.recv.size());
    state.waits_for.resize(phase.rounds.send.size());
    state.sources.resize(phase.out.size());
    state.from.resize(state.peers);
    std::vector<std::uint64_t> waited;  // phase and message
    for (std::uint32_t i = 0; i < phase.rounds.send.size(); ++i) {
      waited.clear();
      for (std::uint32_t m = phase.out_begin[i]; m < phase.out_begin[i + 1]; ++m) {
        if (phase.out[m].origin == plan_.self) continue;
        const auto found = held.find(key_of(phase.out[m]));
        assert(found != held.end() && "a block is sent on that has not come");
        const Held& from = found->second;
        state.sources[m] = {from.phase, from.move};
        waited.push_back(std::uint64_t{from.phase} << 32 | from.message);
      }
      std::sort(waited.begin(), waited.end());
      waited.erase(std::unique(waited.begin(), waited.end()), waited.end());
      state.waits_for[i] = static_cast<std::uint32_t>(waited.size());
      for (const std::uint64_t one : waited) {
        PhaseState& before = states_[one >> 32];
        before.feeds_any = true;
        before.feeds[one & 0xFFFFFFFFu].push_back({static_cast<std::uint32_t>(p), i});
      }
    }
    for (std::uint32_t j = 0; j < phase.rounds.recv.size(); ++j) {
      state.from[phase.rounds.recv[j]] = j;
      for (std::uint32_t m = phase.in_begin[j]; m < phase.in_begin[j + 1]; ++m) {
        if (phase.in[m].destination == plan_.self) continue;
        held[key_of(phase.in[m])] = {static_cast<std::uint32_t>(p), j, m};
      }
    }
  }
}

void Course::measure(PhaseState& state, const Phase& phase, const Amounts& amounts) {
  state.uniform.reset();
  if (amounts.uniform() && state.equal_moves > 0) {
    state.uniform = amounts.each * state.equal_moves;
  }
  // The common case, kept small: peers are ranks, and one number says it all.
  state.send_bytes.clear();
  state.receive_bytes.clear();
  const bool alone = plan_.phases.size() == 1;
  if (alone && state.uniform && phase.direct() && phase.members.empty()) return;
  state.send_bytes.assign(state.peers, 0);
  state.receive_bytes.assign(state.peers, 0);
  Move direct;
  const auto sum = [&](std::span<const Move> moves) {
    std::uint64_t bytes = 0;
    for (const Move& move : moves) bytes += bytes_of(plan_, amounts, move);
    return bytes;
  };
  for (std::size_t i = 0; i < phase.rounds.send.size(); ++i) {
    state.send_bytes[phase.rounds.send[i]] = state.uniform.value_or(sum(phase.sends(i, direct)));
  }
  for (std::size_t i = 0; i < phase.rounds.recv.size(); ++i) {
    state.receive_bytes[phase.rounds.recv[i]] =
        state.uniform.value_or(sum(phase.receives(i, direct)));
  }
}

void Course::begin(const Amounts& amounts) {
  left_ = 0;
  for (std::size_t p = 0; p < states_.size(); ++p) {
    const Phase& phase = plan_.phases[p];
    PhaseState& state = states_[p];
    state.started = state.complete = !takes_part(p);
    if (!state.complete) ++left_;
    measure(state, phase, amounts);
    state.waiting = state.waits_for;
    state.withheld.clear();
    state.ready = static_cast<std::uint32_t>(phase.rounds.send.size());
    for (std::size_t i = 0; i < state.waiting.size(); ++i) {
      if (state.waiting[i] == 0) continue;
      if (state.withheld.empty()) state.withheld.assign(state.peers, 0);
      state.withheld[phase.rounds.send[i]] = 1;
      --state.ready;
    }
  }
  // Messages without bytes are not sent: nobody calls arrived() for them.
  for (std::uint32_t p = 0; p < states_.size(); ++p) {
    for (std::uint32_t j = 0; states_[p].feeds_any && j < states_[p].feeds.size(); ++j) {
      if (states_[p].receive_bytes[plan_.phases[p].rounds.recv[j]] == 0) set_free({p, j}, nullptr);
    }
  }
}

std::optional<std::size_t> Course::next_start() {
  bool begun = true;  // the phases before
  for (std::size_t p = 0; p < states_.size(); ++p) {
    PhaseState& state = states_[p];
    if (state.started) continue;
    // A rank that only receives listens from the beginning of the phase before on; so does one
    // whose peers are far, because what comes early may be more than is held.
    const Phase& phase = plan_.phases[p];
    const bool listens = phase.rounds.send.empty() || phase.reach == plan::Reach::kFar;
    if (!begun || (state.ready == 0 && !listens)) {
      begun = false;
      continue;
    }
    state.started = true;
    return p;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> Course::uniform_bytes(std::size_t phase) const {
  return states_[phase].uniform;
}
std::span<const std::uint64_t> Course::send_bytes(std::size_t phase) const {
  return states_[phase].send_bytes;
}
std::span<const std::uint64_t> Course::receive_bytes(std::size_t phase) const {
  return states_[phase].receive_bytes;
}
std::span<const std::uint8_t> Course::withheld(std::size_t phase) const {
  return states_[phase].withheld;
}

void Course::set_free(Message from, std::vector<Ready>* ready) {
  for (const Message& message : states_[from.phase].feeds[from.index]) {
    PhaseState& state = states_[message.phase];
    assert(state.waiting[message.index] > 0);
    if (--state.waiting[message.index] > 0) continue;
    const base::PeerId peer = plan_.phases[message.phase].rounds.send[message.index];
    state.withheld[peer] = 0;
    ++state.ready;
    if (state.started && ready != nullptr) ready->push_back({message.phase, peer});
  }
}

void Course::arrived(std::size_t phase, base::PeerId peer, std::vector<Ready>& ready) {
  PhaseState& state = states_[phase];
  if (state.feeds_any) set_free({static_cast<std::uint32_t>(phase), state.from[peer]}, &ready);
}

void Course::completed(std::size_t phase) {
  assert(states_[phase].started && !states_[phase].complete);
  states_[phase].complete = true;
  --left_;
}

std::size_t Course::bytes() const {
  std::size_t sum = 0;
  for (const Phase& phase : plan_.phases) {
    sum += (phase.out.size() + phase.in.size()) * sizeof(Move);
    sum += 2 * (phase.rounds.send.size() + phase.rounds.recv.size()) * sizeof(base::PeerId);
  }
  for (const PhaseState& state : states_) {
    sum += state.sources.size() * sizeof(Source) + state.withheld.size();
    sum += (state.send_bytes.size() + state.receive_bytes.size()) * sizeof(std::uint64_t);
  }
  return sum;
}

}  // namespace alm::execute
