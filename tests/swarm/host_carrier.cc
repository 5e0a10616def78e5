#include "host_carrier.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace alm::swarm {

HostCarrier::HostCarrier(const PhasedScenario& scenario, const plan::Plan& plan, HostMemory& memory,
                         const base::Nanos& now, std::function<bool()> wait)
    : plan_(plan), memory_(memory), now_(now), wait_(std::move(wait)), parts_(plan.phases.size()) {
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    const plan::Phase& phase = plan.phases[p];
    if (phase.via == plan::Via::kMemory) continue;
    if (phase.rounds.send.empty() && phase.rounds.recv.empty()) continue;
    const std::size_t members = phase.members.empty() ? plan.ranks : phase.members.size();
    transport::Identity identity;
    identity.key = {scenario.conditions.seed, 77};
    identity.self = phase.self;
    for (PeerId peer = 0; peer < members; ++peer) {
      identity.remote_set.push_back(set_of(phase.rank_of(peer).value, p));
    }
    identity.local_set = identity.remote_set[phase.self];
    parts_[p].channel = std::make_unique<transport::Channel>(scenario.config, identity);
  }
}

base::Status HostCarrier::start(std::size_t phase, const transport::Exchange& exchange) {
  Part& part = parts_[phase];
  assert(!part.running);
  part.running = true;
  ++part.begun;
  if (part.channel) {
    part.channel->start(now_, exchange);
    return {};
  }
  assert(plan_.phases[phase].via == plan::Via::kMemory);
  part.exchange = &exchange;
  for (const base::PeerId peer : exchange.rounds->recv) {
    if (exchange.recv.size_of(peer) > 0) part.missing.push_back(peer);
  }
  part.unsent = static_cast<std::uint32_t>(exchange.rounds->send.size());
  for (const base::PeerId peer : exchange.rounds->send) {
    if (exchange.withheld.empty() || exchange.withheld[peer] == 0) hand_over(phase, peer);
  }
  return {};
}

void HostCarrier::make_ready(std::size_t phase, base::PeerId peer) {
  Part& part = parts_[phase];
  if (part.channel) {
    part.channel->make_ready(peer);
  } else {
    hand_over(phase, peer);
  }
}

HostMemory::Name HostCarrier::name(std::size_t phase, base::PeerId from, base::PeerId to) const {
  return {parts_[phase].begun, phase, plan_.phases[phase].rank_of(from).value,
          plan_.phases[phase].rank_of(to).value};
}

void HostCarrier::hand_over(std::size_t phase, base::PeerId peer) {
  Part& part = parts_[phase];
  assert(part.unsent > 0);
  --part.unsent;
  const auto& blocks = part.exchange->send;
  const std::uint64_t bytes = blocks.size_of(peer);
  if (bytes == 0) return;
  Bytes& message = memory_.messages[name(phase, plan_.phases[phase].self, peer)];
  assert(message.empty());
  message.assign(blocks.at(peer), blocks.at(peer) + bytes);
}

// A peer whose message lies in memory.
std::optional<base::PeerId> HostCarrier::in_memory(std::size_t phase) const {
  for (const base::PeerId peer : parts_[phase].missing) {
    if (memory_.messages.contains(name(phase, peer, plan_.phases[phase].self))) return peer;
  }
  return std::nullopt;
}

void HostCarrier::take(std::size_t phase, base::PeerId peer) {
  Part& part = parts_[phase];
  const auto found = memory_.messages.find(name(phase, peer, plan_.phases[phase].self));
  const auto& blocks = part.exchange->recv;
  assert(found->second.size() == blocks.size_of(peer));
  std::copy(found->second.begin(), found->second.end(), blocks.at(peer));
  memory_.messages.erase(found);
  part.missing.erase(std::find(part.missing.begin(), part.missing.end(), peer));
}

bool HostCarrier::is_complete(const Part& part) const {
  return part.channel ? part.channel->complete() : part.unsent == 0 && part.missing.empty();
}

bool HostCarrier::has_event() const {
  for (std::size_t phase = 0; phase < parts_.size(); ++phase) {
    const Part& part = parts_[phase];
    if (!part.running) continue;
    if (is_complete(part)) return true;
    if (part.channel ? part.channel->arrivals() > 0 : in_memory(phase).has_value()) return true;
  }
  return false;
}

// All arrivals of a phase come before its completion, as from io::Driver.
std::optional<HostCarrier::Event> HostCarrier::next_event() {
  for (std::size_t phase = 0; phase < parts_.size(); ++phase) {
    Part& part = parts_[phase];
    if (!part.running) continue;
    base::PeerId peer = 0;
    if (part.channel && part.channel->take_arrival(&peer)) return Event{phase, peer};
    while (const auto from = part.channel ? std::nullopt : in_memory(phase)) {
      take(phase, *from);
      if (part.exchange->reports_arrivals) return Event{phase, *from};
    }
    if (!is_complete(part)) continue;
    if (part.channel) part.channel->release(now_);
    part.running = false;
    return Event{phase, std::nullopt};
  }
  return std::nullopt;
}

base::Result<HostCarrier::Event> HostCarrier::await() {
  while (true) {
    if (const auto event = next_event()) return *event;
    if (!wait_()) return base::Error{base::ErrorCode::kTimeout, "stopped"};
  }
}

std::string HostCarrier::running() const {
  std::string text;
  for (std::size_t phase = 0; phase < parts_.size(); ++phase) {
    if (parts_[phase].running) text += " phase " + std::to_string(phase);
  }
  return text;
}

}  // namespace alm::swarm
