#include "emulate/network.h"

#include <algorithm>

namespace alm::emulate {
namespace {

constexpr std::uint32_t kShortestFrame = 42;  // Ethernet and IPv4 headers and 8 bytes

}  // namespace

base::Result<std::unique_ptr<Network>> Network::make(const topology::Cluster& cluster,
                                                     routing::Rule rule) {
  sim::Options options;
  options.rule = rule;
  options.frame_bytes = cluster.framing.mtu_bytes + cluster.framing.link_header_bytes;
  options.changes = true;
  options.routes.partial = true;
  auto simulator = sim::Simulator::make(cluster, options);
  if (!simulator) return simulator.error();
  std::unique_ptr<Network> out(new Network);
  out->simulator_ = std::move(simulator).value();
  out->hosts_.resize(cluster.host_count());
  out->shortest_up_ = out->shortest_down_ = sim::kNever;
  for (std::uint32_t host = 0; host < cluster.host_count(); ++host) {
    const std::uint32_t up = out->simulator_->routes().host_port(host);
    const double latency_us = cluster.links[up / 2].latency_us;
    const auto latency = static_cast<Picos>(latency_us * sim::kPicosPerMicro);
    const auto way = [&](std::uint32_t port) {
      return latency + sim::serialization(kShortestFrame, out->simulator_->rate_bit_s(port));
    };
    // To a cut-through switch the head alone has to come; then the rest of the way takes longer.
    out->shortest_up_ = std::min(out->shortest_up_, latency);
    out->shortest_down_ = std::min(out->shortest_down_, way(routing::reverse(up)));
  }
  out->simulator_->begin(*out);
  return out;
}

std::uint32_t Network::label(std::uint32_t from, std::uint32_t to, std::uint32_t entropy) const {
  const routing::Rule rule = simulator_->routes().rule();
  if (rule != routing::Rule::kEcmp) return routing::label(rule, from, to, 0);
  return routing::flow_hash(from, to, entropy);
}

Picos Network::last_frame_time(std::uint32_t to, std::uint32_t bytes) const {
  const std::uint32_t down = routing::reverse(simulator_->routes().host_port(to));
  return sim::serialization(bytes, simulator_->rate_bit_s(down));
}

void Network::enter(const Entering& frame, Picos at) {
  Host& host = hosts_[frame.from];
  at = std::max(at, simulator_->now());
  if (!host.waiting.empty()) at = std::max(at, host.waiting.back().at);
  host.waiting.push_back({frame, at});
  ++held_;
  if (host.waiting.size() == 1) simulator_->rearm(frame.from);
  if (!host.stopped && host.waiting.size() >= kWaitMost) {
    host.stopped = true;
    stops_.push_back({frame.from, true});
  }
}

void Network::advance(Picos now) {
  simulator_->advance(now);
  while (!due_.empty() && due_.top() <= now) due_.pop();
}

Picos Network::quiet_until() {
  const Picos next = simulator_->next_time();
  if (next == sim::kNever) return sim::kNever;
  const Picos unknown = next + shortest_down_;
  return due_.empty() ? unknown : std::min(due_.top(), unknown);
}

Picos Network::deadline(std::uint32_t host) const {
  const Host& state = hosts_[host];
  return state.waiting.empty() ? sim::kNever : state.waiting.front().at;
}

bool Network::pull(std::uint32_t host, Picos now, std::uint32_t index, sim::Packet& packet) {
  Host& state = hosts_[host];
  if (state.waiting.empty() || state.waiting.front().at > now) return false;
  const Entering frame = state.waiting.front().frame;
  state.waiting.pop_front();
  if (state.stopped && state.waiting.size() <= kWaitFew) {
    state.stopped = false;
    stops_.push_back({host, false});
  }
  packet.destination = frame.to;
  packet.bytes = frame.bytes;
  packet.flow = label(host, frame.to, frame.entropy);
  packet.label = frame.id;
  if (index >= under_way_.size()) under_way_.resize(index + 1);
  under_way_[index] = frame;
  return true;
}

void Network::receive(std::uint32_t host, Picos now, std::uint32_t index,
                      const sim::Packet& packet) {
  const Entering& frame = under_way_[index];
  delivered_.push_back({frame.id, packet.source, host, frame.bytes, frame.entropy, now});
  --held_;
}

void Network::lost(std::uint32_t index) {
  lost_.push_back(under_way_[index].id);
  --held_;
}

}  // namespace alm::emulate
