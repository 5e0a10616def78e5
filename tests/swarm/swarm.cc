#include "swarm.h"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <sstream>

#include "datagrams.h"
#include "draw.h"
#include "plan/uneven.h"

namespace alm::swarm {
namespace {

// Rounds of shift partners, in a few shapes.
base::Rounds shift_rounds(Rounds kind, PeerId self, PeerId ranks) {
  const PeerId partners = ranks - 1;
  PeerId per_round = partners;
  if (kind == Rounds::kPairwise) per_round = 1;
  if (kind == Rounds::kGroup) per_round = std::max<PeerId>(1, partners / 3);
  base::Rounds rounds;
  rounds.interleaved = kind != Rounds::kDirect;
  rounds.send_begin = rounds.recv_begin = {0};
  for (PeerId i = 1; i <= partners; ++i) {
    rounds.send.push_back((self + i) % ranks);
    rounds.recv.push_back((self + ranks - i) % ranks);
    if (i % per_round == 0 || i == partners) {
      rounds.send_begin.push_back(i);
      rounds.recv_begin.push_back(i);
    }
  }
  return rounds;
}

// The part of one rank in an exchange of uneven blocks.
void set_steps(base::Rounds& rounds, const Scenario& scenario, PeerId self,
               std::span<const std::uint64_t> planned) {
  rounds.trains.clear();
  rounds.arrivals.clear();
  rounds.steps = 0;
  if (planned.empty()) return;
  auto made = plan::make_uneven({.ranks = scenario.ranks,
                                 .self = {self},
                                 .bytes = planned,
                                 .packet_bytes = scenario.config.datagram_bytes -
                                                 static_cast<std::uint32_t>(wire::kHeaderBytes),
                                 .grain_packets = scenario.config.grain_packets,
                                 .link_steps = 0});
  rounds.trains = std::move(made.send);
  rounds.arrivals = std::move(made.recv);
  rounds.steps = made.steps;
}

// What both forms of a rank share: when it enters which exchange.
class Program {
 public:
  Program(const Scenario& scenario, PeerId self)
      : scenario_(scenario),
        self_(self),
        rounds_(shift_rounds(scenario.rounds, self, scenario.ranks)),
        send_size_(scenario.ranks),
        recv_size_(scenario.ranks),
        enter_at_(scenario.think[0][self]) {}

  bool finished() const { return next_exchange_ == scenario_.exchanges && !inside_; }
  std::string state() const {
    return "rank " + std::to_string(self_) + " in exchange " + std::to_string(next_exchange_);
  }
  base::Nanos wake() const {
    if (inside_) return ready_.empty() ? base::kNever : ready_.begin()->first;
    return finished() ? base::kNever : enter_at_;
  }

 protected:
  bool enters(base::Nanos now) {
    if (inside_ || finished() || now < enter_at_) return false;
    inside_ = true;
    withhold(now);
    arrived_.assign(scenario_.ranks, 0);
    set_steps(rounds_, scenario_, self_, scenario_.planned[next_exchange_]);
    for (PeerId peer = 0; peer < scenario_.ranks; ++peer) {
      send_size_[peer] = bytes(self_, peer);
      recv_size_[peer] = bytes(peer, self_);
    }
    return true;
  }
  // A withheld block that is there by now.
  std::optional<PeerId> take_ready(base::Nanos now) {
    if (ready_.empty() || ready_.begin()->first > now) return std::nullopt;
    const PeerId peer = ready_.begin()->second;
    ready_.erase(ready_.begin());
    return peer;
  }
  template <class Transport>
  void take_arrivals(Transport& transport) {
    for (PeerId peer = 0; transport.take_arrival(&peer);) ++arrived_[peer];
  }
  // Not of the blocks with bytes, each once.
  bool wrong_arrivals() const {
    for (PeerId peer = 0; peer < scenario_.ranks; ++peer) {
      if (arrived_[peer] != (recv_size_[peer] > 0 ? 1u : 0u)) return true;
    }
    return false;
  }
  std::string wrong_arrivals_text() const {
    return "rank " + std::to_string(self_) + " was not told once of each arrival in exchange " +
           std::to_string(next_exchange_);
  }

  void leaves(base::Nanos now) {
    inside_ = false;
    if (++next_exchange_ < scenario_.exchanges) {
      enter_at_ = now + scenario_.think[next_exchange_][self_];
    }
  }
  const Scenario& scenario_;
  PeerId self_;
  base::Rounds rounds_;
  std::vector<std::uint8_t> withheld_;
  std::uint32_t next_exchange_ = 0;
  bool inside_ = false;
  std::vector<std::uint64_t> send_size_, recv_size_;

 private:
  void withhold(base::Nanos now) {
    ready_.clear();
    withheld_.clear();
    if (scenario_.withheld.empty()) return;
    for (PeerId peer = 0; peer < scenario_.ranks; ++peer) {
      const base::Nanos after = scenario_.withheld[next_exchange_][self_ * scenario_.ranks + peer];
      withheld_.push_back(after > 0 ? 1 : 0);
      if (after > 0) ready_.emplace(now + after, peer);
    }
  }

  std::multimap<base::Nanos, PeerId> ready_;
  std::vector<std::uint32_t> arrived_;

  std::uint64_t bytes(PeerId from, PeerId to) const {
    return from == to ? 0 : scenario_.bytes[next_exchange_][from * scenario_.ranks + to];
  }

  base::Nanos enter_at_;
};

class RankWithBytes : public Program {
 public:
  using Packet = Bytes;

  RankWithBytes(const Scenario& scenario, PeerId self) : Program(scenario, self) {
    transport::Identity identity;
    identity.key = {scenario.seed, 77};
    identity.self = self;
    identity.local_set = static_cast<std::uint16_t>(100 + self);
    for (PeerId peer = 0; peer < scenario.ranks; ++peer) {
      identity.remote_set.push_back(static_cast<std::uint16_t>(100 + peer));
    }
    channel_ = std::make_unique<transport::Channel>(scenario.config, identity);
  }

  base::Nanos deadline() const { return channel_->deadline(); }
  bool settled() const { return channel_->settled(); }
  const transport::Counters& counters() const { return channel_->counters(); }

  // Enters and leaves exchanges as time goes by. A wrong byte fills `failure`.
  void step(base::Nanos now, std::string* failure) {
    if (enters(now)) start(now);
    while (const auto peer = take_ready(now)) {
      fill(*peer);
      channel_->make_ready(*peer);
    }
    if (!inside_) return;
    take_arrivals(*channel_);
    if (channel_->complete()) finish(now, failure);
  }

  bool pull(base::Nanos now, PeerId* to, Packet* packet) {
    return pull_datagram(*channel_, now, to, packet);
  }
  void arrive(base::Nanos now, const Packet& packet) { channel_->on_datagram(now, packet); }
  static wire::Header header_of(const Packet& packet) { return header_of_datagram(packet); }
  static void corrupt(Packet& packet, std::mt19937_64& random) { corrupt_datagram(packet, random); }

 private:
  void start(base::Nanos now) {
    const PeerId ranks = scenario_.ranks;
    send_at_.assign(ranks, 0);
    recv_at_.assign(ranks, 0);
    std::uint64_t send_total = 0, recv_total = 0;
    for (PeerId peer = 0; peer < ranks; ++peer) {
      send_at_[peer] = send_total;
      recv_at_[peer] = recv_total;
      send_total += send_size_[peer];
      recv_total += recv_size_[peer];
    }
    send_.resize(send_total);
    recv_.assign(recv_total, kUntouched);
    for (PeerId peer = 0; peer < ranks; ++peer) {
      if (withheld_.empty() || withheld_[peer] == 0) fill(peer);
    }
    transport::Exchange exchange;
    exchange.rounds = &rounds_;
    exchange.send = {send_.data(), 0, 0, send_at_, send_size_};
    exchange.recv = {recv_.data(), 0, 0, recv_at_, recv_size_};
    exchange.withheld = withheld_;
    exchange.reports_arrivals = true;
    channel_->start(now, exchange);
  }

  void fill(PeerId peer) {
    for (std::uint64_t i = 0; i < send_size_[peer]; ++i) {
      send_[send_at_[peer] + i] = pattern(next_exchange_, self_, peer, i);
    }
  }

  void finish(base::Nanos now, std::string* failure) {
    channel_->release(now);
    if (wrong_arrivals()) *failure = wrong_arrivals_text();
    for (PeerId peer = 0; peer < scenario_.ranks; ++peer) {
      for (std::uint64_t i = 0; i < recv_size_[peer]; ++i) {
        if (recv_[recv_at_[peer] + i] == pattern(next_exchange_, peer, self_, i)) continue;
        std::ostringstream text;
        text << "exchange " << next_exchange_ << ": rank " << self_ << " has a wrong byte " << i
             << " of " << recv_size_[peer] << " from rank " << peer;
        *failure = text.str();
        return;
      }
    }
    // The program is free to overwrite its send buffer now.
    std::fill(send_.begin(), send_.end(), kUntouched);
    leaves(now);
  }

  std::unique_ptr<transport::Channel> channel_;
  std::vector<std::uint64_t> send_at_, recv_at_;
  std::vector<std::byte> send_, recv_;
};

class RankWithoutBytes : public Program {
 public:
  using Packet = transport::Emission;

  RankWithoutBytes(const Scenario& scenario, PeerId self)
      : Program(scenario, self), engine_(scenario.config, self, scenario.ranks) {}

  base::Nanos deadline() const { return engine_.deadline(); }
  bool settled() const { return engine_.settled(); }
  const transport::Counters& counters() const { return engine_.counters(); }

  void step(base::Nanos now, std::string* failure) {
    if (enters(now)) {
      engine_.start(now, rounds_, {0, send_size_}, {0, recv_size_}, withheld_, true);
      for (const auto& held : held_)
        engine_.replay(held.header.source, held.header.packet, held.length);
      held_.clear();
    }
    while (const auto peer = take_ready(now)) engine_.make_ready(*peer);
    if (!inside_) return;
    take_arrivals(engine_);
    if (engine_.complete()) {
      engine_.release(now);
      if (wrong_arrivals()) *failure = wrong_arrivals_text();
      leaves(now);
    }
  }
  bool pull(base::Nanos now, PeerId* to, Packet* packet) {
    if (!engine_.next(now, packet)) return false;
    packet->header.source = static_cast<std::uint16_t>(self_);
    *to = packet->peer;
    return true;
  }
  void arrive(base::Nanos now, const Packet& packet) {
    const auto body = std::span(packet.control).first(packet.control_bytes);
    if (engine_.on_packet(now, packet.header, packet.exchange, packet.length, body) ==
        transport::Verdict::kHold) {
      held_.push_back(packet);
    }
    if (engine_.recoverable(packet.header.source)) engine_.recovered(now, packet.header.source);
  }
  static wire::Header header_of(const Packet& packet) { return packet.header; }
  static void corrupt(Packet& /*packet*/, std::mt19937_64& /*random*/) {}

 private:
  transport::Engine engine_;
  std::vector<transport::Emission> held_;
};

template <class Rank>
Outcome run_ranks(const Scenario& scenario) {
  std::vector<Rank> ranks;
  ranks.reserve(scenario.ranks);
  for (PeerId rank = 0; rank < scenario.ranks; ++rank) ranks.emplace_back(scenario, rank);
  const Conditions conditions{scenario.faults, scenario.config.packet_time, scenario.port_queue,
                              scenario.seed, scenario.time_max};
  return EventLoop(ranks, conditions).run();
}

}  // namespace

Outcome run(const Scenario& scenario) { return run_ranks<RankWithBytes>(scenario); }

Outcome run_without_bytes(const Scenario& scenario) {
  return run_ranks<RankWithoutBytes>(scenario);
}

Scenario random_scenario(std::uint64_t seed) {
  Draw draw(seed);
  const auto below = [&](std::uint64_t n) { return draw.below(n); };
  Scenario scenario;
  scenario.seed = seed;
  scenario.ranks = static_cast<PeerId>(2 + below(7));
  scenario.exchanges = static_cast<std::uint32_t>(2 + below(7));
  scenario.config = draw_config(draw);
  scenario.rounds = static_cast<Rounds>(below(4));
  scenario.faults = draw_faults(draw);
  scenario.port_queue = draw_port_queue(draw);

  const std::uint64_t payload = scenario.config.datagram_bytes - 24;
  for (std::uint32_t exchange = 0; exchange < scenario.exchanges; ++exchange) {
    const std::uint64_t shape = below(7);
    const std::uint64_t largest = 1 + below(payload * (below(10) == 0 ? 400 : 12));
    const PeerId hot = static_cast<PeerId>(below(scenario.ranks));
    auto& matrix = scenario.bytes.emplace_back(scenario.ranks * scenario.ranks);
    for (PeerId from = 0; from < scenario.ranks; ++from) {
      for (PeerId to = 0; to < scenario.ranks; ++to) {
        std::uint64_t& cell = matrix[from * scenario.ranks + to];
        if (shape <= 1) cell = largest;                             // the complete exchange
        if (shape == 2) cell = below(largest + 1);                  // random
        if (shape == 3) cell = from == hot ? largest : 0;           // one to all
        if (shape == 4) cell = to == hot ? largest : below(20);     // hot receiver
        if (shape == 5) cell = below(3) == 0 ? below(largest) : 0;  // sparse
        if (shape == 6) cell = 0;
      }
    }
    auto& planned = scenario.planned.emplace_back();
    if (below(2) == 0) planned = matrix;
    if (below(8) == 0) planned.assign(matrix.size(), 1 + below(largest));  // of an exchange before
    auto& think = scenario.think.emplace_back(scenario.ranks);
    for (auto& time : think) time = draw_think(draw);
  }
  return scenario;
}

Scenario random_withholding(std::uint64_t seed) {
  Scenario scenario = random_scenario(seed);
  std::mt19937_64 random(seed * 7919);
  for (std::uint32_t exchange = 0; exchange < scenario.exchanges; ++exchange) {
    const std::uint64_t share = random() % 5;  // of four blocks
    const std::uint64_t longest = random() % 4 == 0 ? 50'000'000 : 500'000;
    auto& matrix = scenario.withheld.emplace_back(scenario.ranks * scenario.ranks);
    for (base::Nanos& after : matrix) {
      if (random() % 4 < share) after = static_cast<base::Nanos>(1 + random() % longest);
    }
  }
  return scenario;
}

Scenario random_paths(std::uint64_t seed) {
  Scenario scenario = random_scenario(seed);
  Draw draw(seed * 104'729);
  transport::Config& config = scenario.config;
  config.reliability = transport::Reliability::kSelectiveRepeat;
  config.paths = static_cast<std::uint32_t>(2 + draw.below(draw.below(4) == 0 ? 31 : 5));
  config.path_rule = static_cast<paths::PathRule>(draw.below(10));
  config.path_batch = static_cast<std::uint32_t>(draw.below(config.paths + 1));
  for (std::uint32_t path = 0; path < config.paths; ++path) {
    scenario.faults.path_delay.push_back(
        draw.below(2) == 0 ? 0 : static_cast<base::Nanos>(draw.below(200'000)));
  }
  if (draw.below(3) == 0) return scenario;
  scenario.faults.dead_path = static_cast<std::uint8_t>(draw.below(config.paths));
  scenario.faults.dead_from = static_cast<base::Nanos>(draw.below(2'000'000));
  if (draw.below(2) == 0) {
    scenario.faults.dead_until =
        scenario.faults.dead_from + static_cast<base::Nanos>(1 + draw.below(50'000'000));
  }
  return scenario;
}

Scenario random_far(std::uint64_t seed) {
  Scenario scenario = random_scenario(seed);
  Draw draw(seed * 15'485'863);
  transport::Config& config = scenario.config;
  config.reliability = transport::Reliability::kSelectiveRepeat;
  config.pace = config.packet_time * static_cast<base::Nanos>(1 + draw.below(4));
  config.pace_burst_packets = static_cast<std::uint32_t>(1 + draw.below(4));
  config.pace_yields = draw.below(2) == 0;
  config.yields = false;
  config.window_packets = config.span_packets = 4096;
  config.round_trip = 2 * scenario.faults.delay + static_cast<base::Nanos>(draw.below(20'000'000));
  config.parities = true;
  scenario.planned.assign(scenario.exchanges, {});
  return scenario;
}

std::string describe(const Scenario& scenario) {
  std::ostringstream text;
  text << scenario.ranks << " ranks, " << scenario.exchanges << " exchanges, window "
       << scenario.config.window_packets << ", grain " << scenario.config.grain_packets
       << (scenario.config.reliability == transport::Reliability::kGoBackN ? ", go-back-N" : "")
       << ", drop " << scenario.faults.drop << ", reorder " << scenario.faults.reorder << ", paths "
       << scenario.config.paths << " (" << name_of(scenario.config.path_rule) << ")"
       << ", corrupt " << scenario.faults.corrupt << ", port queue " << scenario.port_queue;
  return text.str();
}

}  // namespace alm::swarm
