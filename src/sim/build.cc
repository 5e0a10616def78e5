// From a cluster and options to ports, fifos and switches; what cannot be simulated is refused
// here.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "sim/simulator.h"

namespace alm::sim {
namespace {

using topology::Architecture;
using topology::Cluster;
using topology::FlowControl;
using topology::Link;
using topology::NodeId;
using topology::Switching;

constexpr double kBitsPerMbit = 1e6;
constexpr std::uint32_t kFrameBytesMin = 64;
constexpr std::uint32_t kFrameBytesMax = 1u << 20;
constexpr std::uint32_t kPortsMax = 1u << 27;  // what an event's target holds

std::uint64_t bits(double mbit_s) {
  return static_cast<std::uint64_t>(std::llround(mbit_s * kBitsPerMbit));
}

}  // namespace

class Builder {
 public:
  Builder(const Cluster& cluster, const Options& options) : cluster_(cluster), options_(options) {}

  base::Result<std::unique_ptr<Simulator>> run() {
    if (auto status = check(); !status) return status.error();
    auto routes = routing::Routes::make(cluster_, options_.rule, options_.routes);
    if (!routes) return routes.error();
    sim_.reset(new Simulator);
    sim_->options_ = options_;
    net().trace = options_.trace;
    sim_->routes_ = std::move(routes).value();
    add_switches();
    add_ports();
    add_hosts();
    add_modules();
    add_faults();
    add_rerouting();
    add_buffers();
    return std::move(sim_);
  }

 private:
  std::string port_name(std::uint32_t port) const {
    const Link& link = cluster_.links[port / 2];
    const bool up = port % 2 == 0;
    return cluster_.node_name(up ? link.from : link.to) + " -> " +
           cluster_.node_name(up ? link.to : link.from);
  }

  base::Status check() const {
    if (cluster_.hosts.empty() || cluster_.links.empty()) {
      return base::bad_input("a cluster without hosts or links cannot be simulated");
    }
    if (cluster_.links.size() * 2 > kPortsMax) {
      return base::bad_input(
          fmt::format("{} links; at most {} are possible", cluster_.links.size(), kPortsMax / 2));
    }
    if (options_.frame_bytes < kFrameBytesMin || options_.frame_bytes > kFrameBytesMax) {
      return base::bad_input(fmt::format("frames of {} bytes; expected {} to {}",
                                         options_.frame_bytes, kFrameBytesMin, kFrameBytesMax));
    }
    if (options_.host_queue_packets == 0) {
      return base::bad_input("a host queue of 0 packets sends nothing; expected at least 1");
    }
    for (std::uint32_t port = 0; port < 2 * cluster_.links.size(); ++port) {
      const Link& link = cluster_.links[port / 2];
      const double rate = port % 2 == 0 ? link.rate_up_mbit_s : link.rate_down_mbit_s;
      if (!(rate > 0) || bits(rate) == 0) {
        return base::bad_input(
            fmt::format("port {}: a rate of {} Mbit/s carries nothing; expected at least 0.000001",
                        port_name(port), rate));
      }
      if ((port % 2 == 0 ? link.queue_up_packets : link.queue_down_packets) == 0) {
        return base::bad_input(fmt::format(
            "port {}: a buffer of 0 packets; expected room for one at least", port_name(port)));
      }
      if (!(link.latency_us >= 0)) {
        return base::bad_input(fmt::format("port {}: a latency of {} us; expected 0 or more",
                                           port_name(port), link.latency_us));
      }
    }
    for (const Fault& fault : options_.faults) {
      if (auto status = check(fault); !status) return status;
    }
    for (const Module& module : options_.modules) {
      if (module.link >= cluster_.links.size()) {
        return base::bad_input("a module on a link that does not exist");
      }
    }
    return {};
  }

  base::Status check(const Fault& fault) const {
    if (fault.kind == Fault::Kind::kSlowHost) {
      if (fault.host >= cluster_.host_count()) return base::bad_input("a slow host out of range");
      if (!(fault.factor > 1 && fault.factor <= 1e6)) {
        return base::bad_input(
            fmt::format("host `{}` slowed by {}; expected a factor above 1, at most 1000000",
                        cluster_.hosts[fault.host].name, fault.factor));
      }
      return {};
    }
    if (fault.port >= 2 * cluster_.links.size()) return base::bad_input("a fault out of range");
    if (fault.kind == Fault::Kind::kBlockPort && fault.duration <= 0) {
      return base::bad_input(
          fmt::format("port {} blocked for no time; expected a duration", port_name(fault.port)));
    }
    if (fault.kind == Fault::Kind::kLossyLink && !(fault.part > 0 && fault.part < 1)) {
      return base::bad_input(
          fmt::format("port {} loses a part of {}; expected one above 0 and below 1",
                      port_name(fault.port), fault.part));
    }
    return {};
  }

  const topology::Switch& switch_of(std::uint32_t index) const { return cluster_.switches[index]; }

  void add_switches() {
    for (std::uint32_t i = 0; i < cluster_.switches.size(); ++i) {
      const topology::Switch& from = switch_of(i);
      SwitchState node;
      node.input_buffered = from.architecture == Architecture::kInput;
      node.back_pressure = from.flow_control == FlowControl::kBackPressure;
      node.backplane_bit_s = bits(from.backplane_mbit_s);
      // Under back-pressure what the ports hold is bounded port by port.
      if (from.architecture == Architecture::kShared && !node.back_pressure) {
        node.pool = from.buffer_packets;
        node.alpha_millionths = static_cast<std::uint64_t>(std::llround(from.buffer_alpha * 1e6));
      }
      net().switches.push_back(std::move(node));
    }
  }

  void add_ports() {
    for (std::uint32_t id = 0; id < 2 * cluster_.links.size(); ++id) {
      const Link& link = cluster_.links[id / 2];
      const bool up = id % 2 == 0;
      const NodeId from = up ? link.from : link.to;
      const NodeId to = up ? link.to : link.from;
      Port port;
      port.bit_s = port.built_bit_s = bits(up ? link.rate_up_mbit_s : link.rate_down_mbit_s);
      port.latency = static_cast<Picos>(std::llround(link.latency_us * kPicosPerMicro));
      port.queue_limit = up ? link.queue_up_packets : link.queue_down_packets;
      constexpr std::uint32_t kRing = 16;
      port.ring = std::make_unique<Picos[]>(kRing);
      port.ring_mask = kRing - 1;
      port.to_host = cluster_.is_host(to);
      port.to = port.to_host ? to.value : to.value - cluster_.host_count();
      port.cut_through = !port.to_host && switch_of(port.to).switching == Switching::kCutThrough;
      if (!cluster_.is_host(from)) {
        port.from_switch = from.value - cluster_.host_count();
        if (link.ecn_packets > 0) port.mark_at = link.ecn_packets;
        net().switches[port.from_switch].ports.push_back(id);
        port.pooled = net().switches[port.from_switch].pool > 0;
        port.with_fifo = net().switches[port.from_switch].input_buffered;
        if (port.with_fifo) port.output_frames = options_.output_frames;
      }
      net().ports.push_back(std::move(port));
    }
    net().stats.resize(net().ports.size());
    // A backplane that carries all ports at once is none.
    for (SwitchState& node : net().switches) {
      std::uint64_t all = 0;
      for (const std::uint32_t port : node.ports) {
        all += net().ports[routing::reverse(port)].bit_s;
      }
      if (node.backplane_bit_s >= all) node.backplane_bit_s = 0;
    }
  }

  void add_hosts() {
    for (std::uint32_t i = 0; i < cluster_.host_count(); ++i) {
      HostState host;
      host.egress = sim_->routes_.host_port(i);
      host.costs = options_.costs;
      if (options_.pauses.interval > 0 && options_.pauses.mean > 0) {
        host.random = Random(mix(options_.pauses.seed) + i);
        host.next_pause = host.random.exponential(options_.pauses.interval);
        sim_->costs_ = true;
      }
      net().hosts.push_back(host);
    }
    sim_->costs_ = sim_->costs_ || options_.costs.any();
  }

  void add_modules() {
    std::vector<Module> modules = options_.modules;
    for (std::uint32_t link = 0; link < cluster_.links.size(); ++link) {
      const double cap = cluster_.links[link].bidirectional_cap_mbit_s;
      const auto known = std::find_if(modules.begin(), modules.end(),
                                      [&](const Module& module) { return module.link == link; });
      if (cap <= 0) continue;
      if (known == modules.end()) {
        modules.push_back({.link = link, .both_ways_mbit_s = cap});
      } else if (known->both_ways_mbit_s == 0) {
        known->both_ways_mbit_s = cap;
      }
    }
    for (const Module& module : modules) {
      for (const std::uint32_t port :
           {routing::up_port(module.link), routing::down_port(module.link)}) {
        net().ports[port].module = static_cast<std::uint32_t>(net().modules.size());
        net().ports[port].with_fifo = true;
      }
      ModuleState state;
      state.both_ways_bit_s = bits(module.both_ways_mbit_s);
      state.per_packet = module.per_packet;
      state.per_waiting = module.per_waiting;
      net().modules.push_back(state);
    }
  }

  bool into_input_buffer(const Port& port) const {
    return !port.to_host && net().switches[port.to].input_buffered;
  }

  void add_faults() {
    constexpr double kThousand = 1000;
    for (const Fault& fault : options_.faults) {
      if (fault.kind == Fault::Kind::kSlowHost) {
        HostState& host = net().hosts[fault.host];
        const Picos frame = serialization(options_.frame_bytes, net().ports[host.egress].bit_s);
        const auto factor = static_cast<Picos>(std::llround(fault.factor * kThousand));
        const auto times = [&](Picos cost) { return cost * factor / 1000; };
        host.slow = {times(host.costs.send), times(host.costs.receive),
                     times(std::max(host.costs.gap, frame))};
        host.slow_from = fault.start;
        host.slow_until = fault.duration > 0 ? fault.start + fault.duration : kNever;
        sim_->costs_ = true;
        continue;
      }
      Fault known = fault;
      if (fault.after_packets > 0) known.start = kNever;
      net().faults.add(known);
      Port& port = net().ports[fault.port];
      port.watched = true;
      if (fault.kind == Fault::Kind::kLinkDown || fault.kind == Fault::Kind::kLossyLink) {
        net().ports[routing::reverse(fault.port)].watched = true;
      } else if (!into_input_buffer(port)) {
        port.with_fifo = true;
      }
    }
  }

  void add_rerouting() {
    if (options_.rule == routing::Rule::kLeastLoaded) {
      sim_->chosen_.assign(std::size_t{cluster_.host_count()} * cluster_.host_count(), 0);
    }
    if (options_.reroute_delay == kNever && !options_.changes) return;
    sim_->cluster_ = cluster_;
    if (options_.reroute_delay == kNever) return;
    for (const Fault& fault : options_.faults) {
      if (fault.kind != Fault::Kind::kLinkDown) continue;
      const Picos known = fault.start + options_.reroute_delay;
      net().queue.push(known, EventKind::kReroute, 0);
      if (fault.duration > 0) net().queue.push(known + fault.duration, EventKind::kReroute, 0);
    }
  }

  std::uint32_t add_fifo(std::uint32_t capacity) {
    net().fifos.emplace_back();
    net().fifos.back().capacity = capacity;
    return static_cast<std::uint32_t>(net().fifos.size() - 1);
  }

  // What a port's queue holds: packets that came through it, in an input-buffered switch; packets
  // that leave through it, in any other.
  void add_buffers() {
    for (std::uint32_t id = 0; id < net().ports.size(); ++id) {
      Port& port = net().ports[id];
      const std::uint32_t far_queue = net().ports[routing::reverse(id)].queue_limit;
      if (into_input_buffer(port)) {
        port.into_fifo = true;
        port.input_fifo = add_fifo(far_queue);
        net().fifos[port.input_fifo].in_port = id;
      }
      if (!port.to_host && net().switches[port.to].back_pressure) {
        port.credits = far_queue;
        port.with_fifo = true;
      }
      if (port.to_host && options_.card.packets > 0 &&
          net().switches[port.from_switch].back_pressure) {
        port.credits = options_.card.packets;
        port.with_fifo = true;
      }
    }
    for (std::uint32_t id = 0; id < net().ports.size(); ++id) {
      Port& port = net().ports[id];
      const bool host = port.from_switch == kNone;
      if (!host && net().switches[port.from_switch].input_buffered) continue;
      const bool counted = !host && net().switches[port.from_switch].back_pressure;
      port.with_fifo = port.with_fifo || counted;
      if (!port.with_fifo) continue;
      port.output_fifo = add_fifo(host || counted ? kNone : port.queue_limit);
      if (host) net().fifos[port.output_fifo].host = net().ports[routing::reverse(id)].to;
    }
  }

  NetworkState& net() { return sim_->net_; }
  const NetworkState& net() const { return sim_->net_; }

  const Cluster& cluster_;
  const Options& options_;
  std::unique_ptr<Simulator> sim_;
};

base::Result<std::unique_ptr<Simulator>> Simulator::make(const Cluster& cluster,
                                                         const Options& options) {
  return Builder(cluster, options).run();
}

}  // namespace alm::sim
