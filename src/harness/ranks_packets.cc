// The packets of simulated ranks: what leaves a host, and what has come.
#include "harness/ranks.h"

namespace alm::harness {

using sim::Picos;

namespace {

constexpr std::size_t kCacheBytes = std::size_t{1} << 20;  // of a core, about

}  // namespace

bool Ranks::pull(std::uint32_t host, Picos now, std::uint32_t index, sim::Packet& packet) {
  const auto& here = ranks_on_[host];
  if (here.size() == 1) {
    enter_when_due(here.front(), now);
    return pull_rank(here.front(), now, index, packet);
  }
  // What one rank does may give its neighbours something to send.
  for (bool again = true; again;) {
    again = false;
    for (std::size_t i = 0; i < here.size(); ++i) {
      const std::size_t turn = (turn_[host] + i) % here.size();
      again = enter_when_due(here[turn], now) || again;
      if (pull_rank(here[turn], now, index, packet)) {
        turn_[host] = turn + 1;
        return true;
      }
      again = (has_come(ranks_[here[turn]]) && advance(here[turn], now)) || again;
    }
  }
  return false;
}

// True: it has entered an exchange. A rank without anything to send or to receive is complete at
// once.
bool Ranks::enter_when_due(std::uint32_t rank, Picos now) {
  const Rank& self = ranks_[rank];
  bool entered = false;
  while (self.starts_at <= now) {
    enter(rank, now);
    advance(rank, now);
    entered = true;
  }
  return entered;
}

bool Ranks::pull_rank(std::uint32_t rank, Picos now, std::uint32_t index, sim::Packet& packet) {
  Rank& self = ranks_[rank];
  do {
    for (const std::uint32_t part : self.order) {
      if (!parts_[part].engine) continue;
      transport::Engine& engine = *parts_[part].engine;
      const std::uint64_t resent_before = engine.counters().data_retransmitted;
      if (!engine.next(sim::to_nanos(now), &emission_)) continue;
      load(rank, part, engine.counters().data_retransmitted != resent_before, index, packet);
      // The last packet may be what completes the exchange.
      if (has_come(self)) advance(rank, now);
      return true;
    }
  } while (has_come(self) && advance(rank, now));
  return false;
}

void Ranks::load(std::uint32_t rank, std::uint32_t part, bool resent, std::uint32_t index,
                 sim::Packet& packet) {
  if (index >= cargo_.size()) {
    cargo_.resize(index + index / 2 + 64);
    control_.resize(cargo_.size());
  }
  const Rank& self = ranks_[rank];
  const plan::Phase& phase = self.course.plan().phases[part - self.first_part];
  Cargo& cargo = cargo_[index];
  cargo.header = emission_.header;
  cargo.header.source = static_cast<std::uint16_t>(phase.self);
  cargo.length = emission_.length;
  const std::uint32_t to = phase.rank_of(emission_.peer).value;
  cargo.part = ranks_[to].first_part + part - self.first_part;
  cargo.control_bytes = emission_.control_bytes;
  if (emission_.control_bytes > 0) control_[index] = emission_.control;

  packet.destination = host_of_[to];
  const std::uint32_t message = routing::chooses_per_message(rule_) ? self.entered : 0;
  packet.flow =
      routing::label(rule_, host_of_[rank], packet.destination, emission_.header.path + message);
  packet.bytes = wire::kHeaderBytes + emission_.length + emission_.control_bytes + overhead_bytes_;
  ++packets_;
  if (emission_.header.type == wire::Type::kData) {
    packet.label = emission_.header.packet | (resent ? kLabelResent : 0);
  } else {
    packet.label = emission_.header.type == wire::Type::kAck ? kLabelAck : kLabelProbe;
  }
}

void Ranks::receive(std::uint32_t, Picos now, std::uint32_t index, const sim::Packet&) {
  const Cargo& cargo = cargo_[index];
  Part& part = parts_[cargo.part];
  const std::uint64_t exchange = part.engine->numbers().expand(cargo.header.exchange);
  const auto verdict = part.engine->on_packet(
      sim::to_nanos(now), cargo.header, exchange, cargo.length,
      std::span<const std::byte>(control_[index].data(), cargo.control_bytes));
  if (verdict == transport::Verdict::kHold) {
    part.held.push_back({cargo.header.source, cargo.header.packet, cargo.length});
  }
  // Without bytes: any parities tell as many packets (blocks/parity_code.h has the exceptions).
  if (part.engine->recoverable(cargo.header.source)) {
    part.engine->recovered(sim::to_nanos(now), cargo.header.source);
  }
  if (has_come(ranks_[part.rank])) advance(part.rank, now);
}

bool Ranks::outgrows_cache() const { return bytes() > kCacheBytes; }

// Each stage reads what the one before has fetched.
void Ranks::expect(std::uint32_t index, sim::Nearness nearness) const {
  if (index >= cargo_.size()) return;
  const Cargo& cargo = cargo_[index];
  if (nearness == sim::Nearness::kFar) {
    __builtin_prefetch(&cargo);
    return;
  }
  const transport::Engine* engine = parts_[cargo.part].engine.get();
  if (engine == nullptr) return;
  if (nearness == sim::Nearness::kNearer) {
    engine->expect_use();
  } else {
    engine->expect_from(cargo.header.source);
    engine->expect_next();
  }
}

void Ranks::expect_pull(std::uint32_t host) const {
  for (const std::uint32_t rank : ranks_on_[host]) {
    for (const Part& part : parts_of(ranks_[rank])) {
      if (part.engine) part.engine->expect_next();
    }
  }
}

}  // namespace alm::harness
