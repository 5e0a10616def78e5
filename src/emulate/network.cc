#include "emulate/network.h"

#include <algorithm>
#include <functional>

namespace alm::emulate {
namespace {

constexpr std::uint32_t kShortestFrame = 42;  // Ethernet and IPv4 headers and 8 bytes

}  // namespace

base::Result<std::unique_ptr<Network>> Network::make(const topology::Cluster& cluster,
                                                     routing::Rule rule,
                                                     std::uint32_t output_frames) {
  sim::Options options;
  options.rule = rule;
  options.frame_bytes = cluster.framing.mtu_bytes + cluster.framing.link_header_bytes;
  options.output_frames = output_frames;
  options.changes = true;
  options.routes.partial = true;
  auto simulator = sim::Simulator::make(cluster, options);
  if (!simulator) return simulator.error();
  std::unique_ptr<Network> out(new Network);
  out->simulator_ = std::move(simulator).value();
  out->hosts_.resize(cluster.host_count());
  out->shortest_up_ = out->shortest_down_ = out->frame_time_min_ = sim::kNever;
  for (std::uint32_t host = 0; host < cluster.host_count(); ++host) {
    const std::uint32_t up = out->simulator_->routes().host_port(host);
    const topology::Link& link = cluster.links[up / 2];
    const auto latency = static_cast<Picos>(link.latency_us * sim::kPicosPerMicro);
    const auto takes = [&](std::uint32_t port, std::uint32_t bytes) {
      return sim::serialization(bytes, out->simulator_->rate_bit_s(port));
    };
    const topology::NodeId first = up % 2 == 0 ? link.to : link.from;
    // To a cut-through switch the head alone has to come.
    const bool whole =
        cluster.is_host(first) || cluster.switches[first.value - cluster.host_count()].switching ==
                                      topology::Switching::kStoreAndForward;
    out->shortest_up_ =
        std::min(out->shortest_up_, latency + (whole ? takes(up, kShortestFrame) : 0));
    const std::uint32_t down = routing::reverse(up);
    out->shortest_down_ = std::min(out->shortest_down_, latency + takes(down, kShortestFrame));
    out->hosts_[host].frame_time = takes(down, options.frame_bytes);
    out->frame_time_min_ = std::min(out->frame_time_min_, out->hosts_[host].frame_time);
  }
  out->simulator_->begin(*out);
  return out;
}

std::uint32_t Network::label(std::uint32_t from, std::uint32_t to, std::uint32_t entropy) const {
  const routing::Rule rule = simulator_->routes().rule();
  if (rule != routing::Rule::kEcmp) return routing::label(rule, from, to, 0);
  return routing::flow_hash(from, to, entropy);
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

void Network::advance(Picos now, Picos early) {
  simulator_->advance(now);
  while (!due_.empty() && due_.front().at <= now) take_due();
  while (!due_.empty() && due_.front().at <= now + early) {
    const Due next = take_due();
    UnderWay& packet = under_way_[next.index];
    if (!next.surely) continue;  // it counts when it is there
    packet.delivered = true;
    deliver(packet, next.at);
  }
}

void Network::deliver(const UnderWay& packet, Picos due) {
  const Entering& frame = packet.frame;
  delivered_.push_back({frame.id, frame.from, frame.to, packet.marked, due});
}

Picos Network::quiet_until(Picos late) {
  const Picos next = simulator_->next_time();
  if (next == sim::kNever) return sim::kNever;
  const Picos unknown = next + std::max(shortest_down_, late);
  return due_.empty() ? unknown : std::min(due_.front().at, unknown);
}

void Network::due(Picos at, std::uint32_t index, bool surely) {
  due_.push_back({at, index, surely});
  std::push_heap(due_.begin(), due_.end(), std::greater<>());
}

Network::Due Network::take_due() {
  std::pop_heap(due_.begin(), due_.end(), std::greater<>());
  const Due next = due_.back();
  due_.pop_back();
  return next;
}

bool Network::several_due(Picos until) const {
  // The second one of a heap is one of the next two.
  return (due_.size() > 1 && due_[1].at <= until) || (due_.size() > 2 && due_[2].at <= until);
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
  under_way_[index] = {frame};
  return true;
}

void Network::receive(std::uint32_t, Picos now, std::uint32_t index, const sim::Packet&) {
  --held_;
  if (!under_way_[index].delivered) deliver(under_way_[index], now);
}

void Network::lost(std::uint32_t index) {
  --held_;
  if (!under_way_[index].delivered) lost_.push_back(under_way_[index].frame.id);
}

}  // namespace alm::emulate
