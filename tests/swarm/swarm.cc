#include "swarm.h"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <sstream>

#include "plan/uneven.h"

namespace alm::swarm {
namespace {

constexpr std::byte kUntouched{0xEE};

std::byte pattern(std::uint64_t exchange, PeerId from, PeerId to, std::uint64_t offset) {
  std::uint64_t mixed =
      (exchange * 1000003 + from * 8191 + to * 131 + offset) * 0x9E3779B97F4A7C15u;
  return static_cast<std::byte>(mixed >> 56);
}

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

using Bytes = std::vector<std::byte>;

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
    transport::Outgoing datagram;
    if (channel_->pull(now, {&datagram, 1}) == 0) return false;
    *to = datagram.peer;
    packet->assign(datagram.head().begin(), datagram.head().end());
    packet->insert(packet->end(), datagram.payload.begin(), datagram.payload.end());
    return true;
  }
  void arrive(base::Nanos now, const Packet& packet) { channel_->on_datagram(now, packet); }
  static wire::Header header_of(const Packet& packet) {
    wire::Header header;
    wire::decode(packet, &header);
    header.set = 0;
    return header;
  }
  static void corrupt(Packet& packet, std::mt19937_64& random) {
    const std::size_t bit = random() % (8 * packet.size());
    packet[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
    if (random() % 3 == 0) packet.resize(random() % packet.size());
  }

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
  }
  static wire::Header header_of(const Packet& packet) { return packet.header; }
  static void corrupt(Packet& /*packet*/, std::mt19937_64& /*random*/) {}

 private:
  transport::Engine engine_;
  std::vector<transport::Emission> held_;
};

void mix(std::uint64_t* digest, std::uint64_t value) {
  *digest = (*digest ^ value) * 0x9E3779B97F4A7C15u;
  *digest ^= *digest >> 29;
}

template <class Rank>
Outcome run_ranks(const Scenario& scenario) {
  using Packet = typename Rank::Packet;
  Network<Packet> network(scenario.ranks, scenario.faults, scenario.config.packet_time,
                          scenario.port_queue, scenario.seed);
  std::vector<Rank> ranks;
  ranks.reserve(scenario.ranks);
  for (PeerId rank = 0; rank < scenario.ranks; ++rank) ranks.emplace_back(scenario, rank);

  Outcome outcome;
  base::Nanos now = 0;
  const auto drive = [&](PeerId rank) {
    ranks[rank].step(now, &outcome.failure);
    PeerId to = 0;
    Packet packet;
    while (network.takes(now, rank) && ranks[rank].pull(now, &to, &packet)) {
      const wire::Header header = Rank::header_of(packet);
      for (const std::uint64_t value :
           {static_cast<std::uint64_t>(now), std::uint64_t{rank}, std::uint64_t{to},
            static_cast<std::uint64_t>(header.type), std::uint64_t{header.flags},
            std::uint64_t{header.exchange}, std::uint64_t{header.packet},
            std::uint64_t{header.acknowledged}}) {
        mix(&outcome.trace, value);
      }
      network.send(now, rank, to, packet, &Rank::corrupt);
    }
    ranks[rank].step(now, &outcome.failure);
  };
  // When a rank has something to do although nothing arrives.
  const auto wake = [&](PeerId rank) {
    base::Nanos at = ranks[rank].wake();
    at = std::min(at, network.takes(now, rank) ? ranks[rank].deadline() : network.takes_at(rank));
    return std::max(at, now + 1);
  };
  using Wake = std::pair<base::Nanos, PeerId>;
  std::priority_queue<Wake, std::vector<Wake>, std::greater<>> wakes;
  std::vector<base::Nanos> planned(scenario.ranks, base::kNever);
  const auto plan = [&](PeerId rank) {
    const base::Nanos at = wake(rank);
    if (at >= base::kNever || at == planned[rank]) return;
    planned[rank] = at;
    wakes.push({at, rank});
  };
  for (PeerId rank = 0; rank < scenario.ranks; ++rank) {
    drive(rank);
    plan(rank);
  }

  while (outcome.failure.empty()) {
    const bool all_finished =
        std::all_of(ranks.begin(), ranks.end(), [](const Rank& rank) { return rank.finished(); });
    if (all_finished && outcome.finished == 0) outcome.finished = now;
    if (all_finished &&
        std::all_of(ranks.begin(), ranks.end(), [](const Rank& rank) { return rank.settled(); })) {
      outcome.settled = now;
      break;
    }
    const base::Nanos wake_at = wakes.empty() ? base::kNever : wakes.top().first;
    const base::Nanos next = std::min(network.next_time(), wake_at);
    if (next == base::kNever || next > scenario.time_max) {
      std::ostringstream text;
      text << "stalled at " << static_cast<double>(now) * 1e-9 << " s, ranks not finished:";
      for (PeerId rank = 0; rank < scenario.ranks; ++rank) {
        if (!ranks[rank].finished()) text << ' ' << rank;
      }
      outcome.failure = text.str();
      break;
    }
    now = next;
    PeerId rank = 0;
    if (network.next_time() <= wake_at) {
      const auto arrival = network.pop();
      if (!arrival) continue;
      rank = arrival->to;
      ranks[rank].arrive(now, arrival->packet);
    } else {
      rank = wakes.top().second;
      wakes.pop();
      if (planned[rank] == now) planned[rank] = base::kNever;
    }
    drive(rank);
    plan(rank);
  }
  for (const Rank& rank : ranks) outcome.total += rank.counters();
  outcome.dropped = network.dropped();
  return outcome;
}

}  // namespace

Outcome run(const Scenario& scenario) { return run_ranks<RankWithBytes>(scenario); }

Outcome run_without_bytes(const Scenario& scenario) {
  return run_ranks<RankWithoutBytes>(scenario);
}

Scenario random_scenario(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  const auto real = [&](double max) { return std::uniform_real_distribution<>(0, max)(random); };
  Scenario scenario;
  scenario.seed = seed;
  scenario.ranks = static_cast<PeerId>(2 + below(7));
  scenario.exchanges = static_cast<std::uint32_t>(2 + below(7));
  scenario.config.datagram_bytes = static_cast<std::uint32_t>(80 + below(120));
  scenario.config.window_packets = static_cast<std::uint32_t>(1 + below(below(2) != 0 ? 6 : 40));
  scenario.config.grain_packets = static_cast<std::uint32_t>(1 + below(below(3) == 0 ? 8 : 1));
  scenario.config.packet_time = 1'000;
  scenario.config.timer_jitter = static_cast<base::Nanos>(10'000 + below(500'000));
  scenario.config.retransmit_budget_packets = static_cast<std::uint32_t>(1 + below(6));
  scenario.config.reliability =
      below(4) == 0 ? transport::Reliability::kGoBackN : transport::Reliability::kSelectiveRepeat;
  if (below(6) == 0) scenario.config.send_rule = transport::SendRule::kUnacked;
  if (below(8) == 0) scenario.config.early_bytes_max = 200;
  scenario.config.peer_timeout = base::kNever / 4;
  scenario.config.peer_warning = base::kNever / 4;
  scenario.rounds = static_cast<Rounds>(below(4));
  if (below(5) != 0) scenario.faults.drop = real(below(4) == 0 ? 0.3 : 0.05);
  if (below(2) != 0) scenario.faults.duplicate = real(0.1);
  if (below(2) != 0) scenario.faults.reorder = real(0.2);
  if (below(3) == 0) scenario.faults.corrupt = real(0.1);
  scenario.faults.delay = static_cast<base::Nanos>(500 + below(20'000));
  scenario.faults.delay_spread = static_cast<base::Nanos>(1 + below(100'000));
  if (below(3) == 0) scenario.port_queue = static_cast<std::uint32_t>(1 + below(20));

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
    for (auto& time : think) {
      time = below(3) == 0 ? static_cast<base::Nanos>(below(2'000'000)) : 0;
      if (below(40) == 0) time += static_cast<base::Nanos>(below(800'000'000));
    }
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

std::string describe(const Scenario& scenario) {
  std::ostringstream text;
  text << scenario.ranks << " ranks, " << scenario.exchanges << " exchanges, window "
       << scenario.config.window_packets << ", grain " << scenario.config.grain_packets
       << (scenario.config.reliability == transport::Reliability::kGoBackN ? ", go-back-N" : "")
       << ", drop " << scenario.faults.drop << ", reorder " << scenario.faults.reorder
       << ", corrupt " << scenario.faults.corrupt << ", port queue " << scenario.port_queue;
  return text.str();
}

}  // namespace alm::swarm
