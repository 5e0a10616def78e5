#include "harness/ranks.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

namespace alm::harness {

using sim::Picos;

namespace {

constexpr std::uint64_t kPacketsMax = kLabelResent - 1;  // of a block; labels hold their numbers

// The size of the message that comes from a peer in a phase.
std::uint64_t bytes_from(const execute::Course& course, std::size_t phase, base::PeerId peer) {
  const auto uniform = course.uniform_bytes(phase);
  return uniform ? *uniform : course.receive_bytes(phase)[peer];
}

}  // namespace

base::Result<std::unique_ptr<Program>> Ranks::make(const SimRequest& request, bool goes_on) {
  std::unique_ptr<Ranks> out(new Ranks);
  out->goes_on_ = goes_on;
  const auto count = static_cast<std::uint32_t>(request.hosts.size());
  out->bytes_ = request.bytes;
  out->overhead_bytes_ = request.overhead_bytes;
  out->exchanges_ = request.exchanges;
  out->jitter_ = request.jitter;
  out->random_ = sim::Random(request.jitter.seed);
  out->exchange_end_.assign(request.exchanges, 0);
  out->rule_ = request.network.rule;
  out->bytes_in_ = request.bytes_in;
  out->stages_ = request.stages;
  out->together_ = request.together;
  out->ranks_on_.resize(request.cluster->host_count());
  out->turn_.resize(request.cluster->host_count());
  out->ranks_.reserve(count);
  for (std::uint32_t rank = 0; rank < count; ++rank) {
    if (auto added = out->add(request, rank); !added) return added.error();
  }
  if (auto checked = out->check_hosts(*request.cluster); !checked) return checked.error();
  return std::unique_ptr<Program>(std::move(out));
}

// Ranks of one host reach each other through its memory alone.
base::Status Ranks::check_hosts(const topology::Cluster& cluster) const {
  for (const Rank& rank : ranks_) {
    const std::uint32_t host = host_of_[rank.course.plan().self.value];
    for (const plan::Phase& phase : rank.course.plan().phases) {
      for (const base::PeerId peer : phase.rounds.send) {
        const bool same = host_of_[phase.rank_of(peer).value] == host;
        if (same == (phase.via == plan::Via::kMemory)) continue;
        return base::bad_input(
            same ? fmt::format("host `{}` takes part twice; expected each host once, or a plan by "
                               "hosts (ranks_per_host)",
                               cluster.hosts[host].name)
                 : fmt::format("a message from host `{}` to another goes through its memory",
                               cluster.hosts[host].name));
      }
    }
  }
  return {};
}

base::Status Ranks::add(const SimRequest& request, std::uint32_t rank) {
  const auto count = static_cast<std::uint32_t>(request.hosts.size());
  const std::uint32_t host = request.hosts[rank].value;
  ranks_on_[host].push_back(rank);
  host_of_.push_back(host);
  auto plan = request.plan(rank);
  if (!plan) return plan.error();
  const bool knows_all = plan.value().forwards() && request.bytes_of;
  if (bytes_in_ && plan.value().forwards()) {
    return base::bad_input("steps that differ need a plan that sends every block itself");
  }
  Rank& made =
      ranks_.emplace_back(std::move(plan).value(), static_cast<std::uint32_t>(parts_.size()));
  parts_.resize(parts_.size() + made.parts);
  for (Part& part : parts_of(made)) part.rank = rank;
  made.starts_at = request.starts_at + late();
  if (request.claim) made.claim = request.claim(rank);
  for (std::uint32_t peer = 0; request.bytes_of && peer < count; ++peer) {
    made.send_bytes.push_back(request.bytes_of(rank, peer));
    made.recv_bytes.push_back(request.bytes_of(peer, rank));
  }
  // What takes part in any stage takes part.
  for (std::uint32_t peer = 0; bytes_in_ && peer < count; ++peer) {
    std::uint64_t sends = 0, receives = 0;
    for (std::uint32_t stage = 0; stage < stages_; ++stage) {
      sends = std::max(sends, bytes_in_(stage, rank, peer));
      receives = std::max(receives, bytes_in_(stage, peer, rank));
    }
    made.send_bytes.push_back(sends);
    made.recv_bytes.push_back(receives);
  }
  if (knows_all && all_bytes_.empty()) {
    for (std::uint32_t from = 0; from < count; ++from) {
      for (std::uint32_t to = 0; to < count; ++to) all_bytes_.push_back(request.bytes_of(from, to));
    }
  }
  made.course.begin(amounts(made));
  for (std::size_t part = 0; part < made.course.phases(); ++part) {
    const plan::Phase& phase = made.course.plan().phases[part];
    if (phase.via == plan::Via::kMemory || !made.course.takes_part(part)) continue;
    const auto members =
        phase.members.empty() ? count : static_cast<std::uint32_t>(phase.members.size());
    transport::Config config = request.config(rank);
    if (request.configure_phase) {
      request.configure_phase(rank, static_cast<std::uint32_t>(part), config);
    }
    auto engine = std::make_unique<transport::Engine>(config, phase.self, members);
    for (const base::PeerId peer : phase.rounds.recv) {
      const std::uint64_t bytes = bytes_from(made.course, part, peer);
      if (bytes / engine->sizes().packet_bytes() >= kPacketsMax) {
        return base::bad_input(fmt::format(
            "{} bytes per pair are too many packets; at most {} are possible", bytes, kPacketsMax));
      }
      if (!bytes_in_) {
        data_expected_ += engine->sizes().packets_of(bytes) * std::uint64_t{request.exchanges};
        continue;
      }
      for (std::uint32_t stage = 0; stage < request.exchanges; ++stage) {
        data_expected_ += engine->sizes().packets_of(bytes_in_(stage % stages_, peer, rank));
      }
    }
    parts_of(made)[part].engine = std::move(engine);
  }
  return {};
}

execute::Amounts Ranks::amounts(const Rank& rank) const {
  execute::Amounts amounts;
  amounts.each = bytes_;
  amounts.sends = rank.send_bytes;
  amounts.receives = rank.recv_bytes;
  amounts.all = all_bytes_;
  return amounts;
}

Picos Ranks::late() { return jitter_.mean > 0 ? random_.exponential(jitter_.mean) : 0; }

void Ranks::set_stage(std::uint32_t rank, std::uint32_t stage) {
  Rank& self = ranks_[rank];
  for (std::uint32_t peer = 0; peer < ranks_.size(); ++peer) {
    self.send_bytes[peer] = bytes_in_(stage, rank, peer);
    self.recv_bytes[peer] = bytes_in_(stage, peer, rank);
  }
}

void Ranks::enter(std::uint32_t rank, Picos now) {
  Rank& self = ranks_[rank];
  self.starts_at = sim::kNever;
  self.inside = true;
  if (bytes_in_) set_stage(rank, self.entered % stages_);
  ++self.entered;
  self.course.begin(amounts(self));
  start_phases(rank, now);
}

// True: one has begun.
bool Ranks::start_phases(std::uint32_t rank, Picos now) {
  Rank& self = ranks_[rank];
  bool any = false;
  while (const auto part = self.course.next_start()) {
    parts_of(self)[*part].running = true;
    if (parts_of(self)[*part].engine) {
      start_on_network(self, *part, now);
    } else {
      start_in_memory(rank, *part);
    }
    any = true;
  }
  return any;
}

void Ranks::start_on_network(Rank& self, std::size_t part, Picos now) {
  const execute::Course& course = self.course;
  Part& at = parts_of(self)[part];
  transport::BlockSizes send{0, course.send_bytes(part)};
  transport::BlockSizes recv{0, course.receive_bytes(part)};
  if (const auto bytes = course.uniform_bytes(part)) send = recv = {*bytes, {}};
  if (self.claim && self.claim->refuted()) {
    at.engine->hurry(true);
    at.engine->distrust_file();
  }
  at.begun = now;
  at.engine->start(sim::to_nanos(now), course.plan().phases[part].rounds, send, recv,
                   course.withheld(part), course.feeds_later_phases(part));
  at.at_once = at.engine->at_once_bytes();
  for (const Held& held : at.held) at.engine->replay(held.peer, held.packet, held.length);
  at.held.clear();
}

void Ranks::start_in_memory(std::uint32_t rank, std::size_t part) {
  Rank& self = ranks_[rank];
  Part& at = parts_of(self)[part];
  const base::Rounds& rounds = self.course.plan().phases[part].rounds;
  const auto withheld = self.course.withheld(part);
  at.unsent = static_cast<std::uint32_t>(rounds.send.size());
  at.missing = static_cast<std::uint32_t>(rounds.recv.size());
  for (const base::PeerId peer : rounds.send) {
    if (withheld.empty() || withheld[peer] == 0) hand_over(rank, part, peer);
  }
  for (const base::PeerId peer : std::exchange(at.early, {})) {
    deliveries_.push_back({rank, static_cast<std::uint32_t>(part), peer});
  }
}

void Ranks::hand_over(std::uint32_t rank, std::size_t part, base::PeerId peer) {
  Rank& self = ranks_[rank];
  const plan::Phase& phase = self.course.plan().phases[part];
  --parts_of(self)[part].unsent;
  deliveries_.push_back({phase.rank_of(peer).value, static_cast<std::uint32_t>(part), phase.self});
}

void Ranks::arrived(std::uint32_t rank, std::size_t part, base::PeerId peer) {
  Rank& self = ranks_[rank];
  ready_.clear();
  self.course.arrived(part, peer, ready_);
  for (const auto& free : ready_) {
    if (parts_of(self)[free.phase].engine) {
      parts_of(self)[free.phase].engine->make_ready(free.peer);
    } else {
      hand_over(rank, free.phase, free.peer);
    }
  }
}

// True: a phase has come to its end, and others may begin.
bool Ranks::complete_phases(Rank& self, Picos now) {
  bool any = false;
  for (std::size_t part = 0; part < self.course.phases(); ++part) {
    Part& at = parts_of(self)[part];
    if (!at.running) continue;
    if (at.engine) {
      if (!at.engine->complete()) continue;
      if (self.claim) hold_against(self, part, now);
      at.engine->release(sim::to_nanos(now));
    } else if (at.unsent > 0 || at.missing > 0) {
      continue;
    }
    at.running = false;
    self.course.completed(part);
    any = true;
  }
  return any;
}

// Whether anything has come or come to its end since the last advance(): mostly not.
bool Ranks::has_come(const Rank& rank) const {
  for (const Part& part : parts_of(rank)) {
    if (part.running && part.engine && (part.engine->arrivals() > 0 || part.engine->complete())) {
      return true;
    }
  }
  return false;
}

// Whatever has come of a rank's phases, and of those of its neighbours through the memory of their
// host. True: a phase has begun, so that there may be something to send.
bool Ranks::advance(std::uint32_t rank, Picos now) {
  Rank& self = ranks_[rank];
  if (!self.inside) return false;
  transport::PeerId peer = 0;
  for (std::size_t part = 0; part < self.course.phases(); ++part) {
    Part& at = parts_of(self)[part];
    while (at.running && at.engine && at.engine->take_arrival(&peer)) arrived(rank, part, peer);
  }
  bool begun = start_phases(rank, now);
  while (complete_phases(self, now)) begun = start_phases(rank, now) || begun;
  while (!deliveries_.empty()) {
    const Delivery one = deliveries_.back();
    deliveries_.pop_back();
    Part& part = parts_of(ranks_[one.rank])[one.part];
    if (!part.running) {
      part.early.push_back(one.from);
      continue;
    }
    --part.missing;
    // The course waits for no message without bytes.
    if (bytes_from(ranks_[one.rank].course, one.part, one.from) > 0) {
      arrived(one.rank, one.part, one.from);
    }
    begun = advance(one.rank, now) || begun;
  }
  if (self.inside && self.course.done()) finish(rank, now);
  return begun;
}

void Ranks::finish(std::uint32_t rank, Picos now) {
  Rank& self = ranks_[rank];
  self.inside = false;
  self.ended = now;
  if (self.entered <= exchanges_) {
    Picos& end = exchange_end_[self.entered - 1];
    end = std::max(end, now);
  }
  if (self.entered == exchanges_) ++ranks_done_;
  if (self.entered >= exchanges_ && !goes_on_) return;
  if (!together_) {
    self.starts_at = now + late();
    return;
  }
  if (++ended_ < ranks_.size()) return;
  ended_ = 0;
  for (Rank& one : ranks_) one.starts_at = now + late();
  wake_all();
}

void Ranks::timer(std::uint32_t host, Picos now) {
  for (const std::uint32_t rank : ranks_on_[host]) {
    for (Part& part : parts_of(ranks_[rank])) {
      while (part.engine) {
        const auto silent = part.engine->check_peers(sim::to_nanos(now));
        if (!silent) break;
        if (!silent->fatal) continue;
        failure_ = {rank, *silent};
        return;
      }
    }
  }
}

Picos Ranks::deadline(std::uint32_t host) const {
  Picos earliest = sim::kNever;
  for (const std::uint32_t rank : ranks_on_[host]) {
    const Rank& self = ranks_[rank];
    earliest = std::min(earliest, self.starts_at);
    for (const Part& part : parts_of(self)) {
      if (!part.engine) continue;
      earliest = std::min(earliest, sim::from_nanos(part.engine->deadline()));
    }
  }
  return earliest;
}

double Ranks::progress() const {
  if (data_expected_ == 0) return 1;
  std::uint64_t received = 0;
  for (const Rank& rank : ranks_) {
    for (const Part& part : parts_of(rank)) {
      if (part.engine) received += part.engine->counters().data_received;
    }
  }
  return static_cast<double>(received) / static_cast<double>(data_expected_);
}

void Ranks::fill(SimResult& result) const {
  std::adjacent_difference(exchange_end_.begin(), exchange_end_.end(),
                           std::back_inserter(result.exchange_time));
  for (const Rank& rank : ranks_) {
    result.rank_end.push_back(rank.ended);
    for (const Part& part : parts_of(rank)) {
      if (part.engine) result.counters += part.engine->counters();
    }
  }
  result.packets = packets_;
}

std::size_t Ranks::bytes() const {
  std::size_t sum = cargo_.capacity() * sizeof(Cargo) + control_.capacity() * sizeof(Control);
  for (const Rank& rank : ranks_) {
    sum += rank.course.bytes();
    for (const Part& part : parts_of(rank)) {
      if (part.engine) sum += part.engine->memory_bytes();
    }
    sum += (rank.send_bytes.capacity() + rank.recv_bytes.capacity()) * sizeof(std::uint64_t);
  }
  return sum;
}

}  // namespace alm::harness
