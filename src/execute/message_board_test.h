// For tests: the ranks of an exchange in one process. What a rank sends lies on a board until its
// receiver takes it; the order is drawn from a seed.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "execute/execution.h"

namespace alm::execute {

class Board {
 public:
  using Bytes = std::vector<std::byte>;
  // (exchange, phase, from, to)
  using Name = std::tuple<std::uint32_t, std::size_t, std::uint32_t, std::uint32_t>;
  std::map<Name, Bytes> messages;
  std::mt19937_64 random;

  explicit Board(std::uint64_t seed) : random(seed) {}
};

class BoardCarrier final : public Carrier {
 public:
  // `wait` gives other ranks their turn; it returns when something may have changed.
  BoardCarrier(Board& board, const plan::Plan& plan, std::function<void()> wait)
      : board_(board), plan_(plan), wait_(std::move(wait)), phases_(plan.phases.size()) {}

  base::Status start(std::size_t phase, const transport::Exchange& exchange) override {
    State& state = phases_[phase];
    EXPECT_FALSE(state.running) << "phase " << phase << " begins twice";
    const std::uint32_t number = state.exchange_number + 1;
    state = State();
    state.exchange_number = number;
    state.running = true;
    state.exchange = &exchange;
    for (const base::PeerId peer : exchange.rounds->send) {
      const bool waits = !exchange.withheld.empty() && exchange.withheld[peer] != 0;
      if (waits) {
        ++state.unsent;
      } else {
        send(phase, peer);
      }
    }
    for (const base::PeerId peer : exchange.rounds->recv) {
      if (exchange.recv.size_of(peer) > 0) state.missing.push_back(peer);
    }
    return {};
  }

  void make_ready(std::size_t phase, base::PeerId peer) override {
    ASSERT_GT(phases_[phase].unsent, 0u);
    --phases_[phase].unsent;
    send(phase, peer);
  }

  base::Result<Event> await() override {
    while (true) {
      std::vector<std::pair<std::size_t, std::size_t>> come;  // phase, position in missing
      for (std::size_t phase = 0; phase < phases_.size(); ++phase) {
        State& state = phases_[phase];
        if (!state.running) continue;
        if (state.missing.empty() && state.unsent == 0) {
          state.running = false;
          return Event{phase, std::nullopt};
        }
        for (std::size_t i = 0; i < state.missing.size(); ++i) {
          if (board_.messages.contains(name(phase, state.missing[i]))) come.emplace_back(phase, i);
        }
      }
      if (come.empty()) {
        wait_();
        continue;
      }
      const auto [phase, i] = come[board_.random() % come.size()];
      if (receive(phase, i)) return *receive_event_;
    }
  }

  std::size_t messages_sent() const { return sent_; }

 private:
  struct State {
    std::uint32_t exchange_number = 0;
    bool running = false;
    const transport::Exchange* exchange = nullptr;
    std::uint32_t unsent = 0;
    std::vector<base::PeerId> missing;
  };

  Board::Name name(std::size_t phase, base::PeerId from) const {
    return {phases_[phase].exchange_number, phase, plan_.phases[phase].rank_of(from).value,
            plan_.self.value};
  }

  void send(std::size_t phase, base::PeerId peer) {
    const auto& blocks = phases_[phase].exchange->send;
    const std::uint64_t bytes = blocks.size_of(peer);
    if (bytes == 0) return;
    const Board::Name to{phases_[phase].exchange_number, phase, plan_.self.value,
                         plan_.phases[phase].rank_of(peer).value};
    EXPECT_FALSE(board_.messages.contains(to));
    board_.messages[to].assign(blocks.at(peer), blocks.at(peer) + bytes);
    ++sent_;
  }

  // True: there is an event to return.
  bool receive(std::size_t phase, std::size_t i) {
    State& state = phases_[phase];
    const base::PeerId peer = state.missing[i];
    const auto found = board_.messages.find(name(phase, peer));
    const auto& blocks = state.exchange->recv;
    EXPECT_EQ(found->second.size(), blocks.size_of(peer));
    std::memcpy(blocks.at(peer), found->second.data(), found->second.size());
    board_.messages.erase(found);
    state.missing.erase(state.missing.begin() + static_cast<std::ptrdiff_t>(i));
    if (!state.exchange->reports_arrivals) return false;
    receive_event_ = Event{phase, peer};
    return true;
  }

  Board& board_;
  const plan::Plan& plan_;
  std::function<void()> wait_;
  std::vector<State> phases_;
  std::optional<Event> receive_event_;
  std::size_t sent_ = 0;
};

}  // namespace alm::execute
