#include "scenario/network.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "topology/find_hosts.h"
#include "topology/graph.h"

namespace alm::scenario {
namespace {

// Packet times of the slowest participant: those of a host link.
sim::Picos packet_times(const topology::Cluster& cluster, double packets,
                        std::uint32_t frame_bytes) {
  const topology::Link& first = cluster.links.front();
  constexpr double kBitsTimesMicro = 8;
  const double rate = std::min(first.rate_up_mbit_s, first.rate_down_mbit_s);
  return std::llround(packets * frame_bytes * kBitsTimesMicro / rate *
                      static_cast<double>(sim::kPicosPerMicro));
}

base::Status add_fault(const topology::Cluster& cluster, const Fault& asked, sim::Options& out) {
  sim::Fault fault = asked.what;
  if (fault.kind == sim::Fault::Kind::kSlowHost) {
    const auto host = topology::find_hosts(cluster, std::vector{asked.host});
    if (!host) return host.error();
    fault.host = host.value().front().value;
  } else {
    const auto port = harness::find_port(cluster, asked.from, asked.to);
    if (!port) return port.error();
    fault.port = port.value();
  }
  if (asked.duration_packets) {
    fault.duration = packet_times(cluster, *asked.duration_packets, out.frame_bytes);
  }
  out.faults.push_back(fault);
  return {};
}

base::Status add_module(const topology::Cluster& cluster, const Module& asked, sim::Options& out) {
  const auto port = harness::find_port(cluster, asked.from, asked.to);
  if (!port) return port.error();
  out.modules.push_back(asked.what);
  out.modules.back().link = port.value() / 2;
  return {};
}

// Rows as LID tables are written: of each switch, for each number the port, from 1 on in the order
// of the switch's links; 0: none.
base::Result<std::vector<std::uint32_t>> lid_ports(
    const topology::Cluster& cluster, const std::vector<std::vector<std::uint32_t>>& rows) {
  if (rows.size() != cluster.switches.size()) {
    return base::bad_input(
        fmt::format("options: `lid_tables` has {} rows; expected {}, one for each switch",
                    rows.size(), cluster.switches.size()));
  }
  const topology::Adjacency adjacency(cluster);
  std::vector<std::uint32_t> out;
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    const std::uint32_t node = cluster.host_count() + i;
    for (const std::uint32_t number : rows[i]) {
      if (number == 0) {
        out.push_back(routing::kNoPort);
        continue;
      }
      if (number > adjacency[node].size()) {
        return base::bad_input(
            fmt::format("options: `lid_tables`: switch `{}` has no port {}; expected 1 to {}",
                        cluster.switches[i].name, number, adjacency[node].size()));
      }
      const std::uint32_t link = adjacency[node][number - 1].link;
      out.push_back(cluster.links[link].from.value == node ? routing::up_port(link)
                                                           : routing::down_port(link));
    }
  }
  return out;
}

base::Result<std::vector<routing::GivenRoutes>> given_routes(
    const topology::Cluster& cluster, const std::vector<RoutesOfPair>& asked) {
  std::vector<routing::GivenRoutes> out;
  for (const RoutesOfPair& pair : asked) {
    const auto ends = topology::find_hosts(cluster, std::vector{pair.from, pair.to});
    if (!ends) return ends.error();
    routing::GivenRoutes& given = out.emplace_back();
    given.from = ends.value()[0].value;
    given.to = ends.value()[1].value;
    for (const std::vector<std::string>& route : pair.routes) {
      auto& switches = given.routes.emplace_back();
      for (const std::string& name : route) {
        const auto found = std::find_if(cluster.switches.begin(), cluster.switches.end(),
                                        [&](const auto& node) { return node.name == name; });
        if (found == cluster.switches.end()) {
          return base::bad_input(fmt::format("options: `routes`: no switch is called `{}`", name));
        }
        switches.push_back(static_cast<std::uint32_t>(found - cluster.switches.begin()));
      }
    }
  }
  return out;
}

base::Status set_routes(const topology::Cluster& cluster, const Options& asked,
                        sim::Options& network) {
  network.rule = asked.routing;
  network.routes.lmc = asked.lmc;
  const bool up_down = asked.lid_engine == "updn";
  if (up_down) network.routes.lid_engine = routing::LidEngine::kUpDown;
  if (network.rule != routing::Rule::kLid && (asked.lmc != 0 || up_down || asked.lid_tables)) {
    return base::bad_input("options: `lmc`, `lid_engine` and `lid_tables` are of routing=lid");
  }
  if (asked.lid_tables) {
    auto made = lid_ports(cluster, *asked.lid_tables);
    if (!made) return made.error();
    network.routes.lid_ports = std::move(made).value();
  }
  if (asked.routes.has_value() != (network.rule == routing::Rule::kGiven)) {
    return base::bad_input("options: `routes` and routing=given belong together");
  }
  if (asked.routes) {
    auto made = given_routes(cluster, *asked.routes);
    if (!made) return made.error();
    network.routes.given = std::move(made).value();
  }
  if (asked.reroute_us) network.reroute_delay = *asked.reroute_us;
  return {};
}

void set_costs(const Overheads& asked, sim::Options& network) {
  network.costs.send = asked.o_s;
  network.costs.user = asked.u_r;
  network.costs.receive = asked.o_r + asked.u_r;
  network.costs.gap = asked.g;
  network.card.turn = asked.turn;
}

// After the costs and pauses.
base::Status set_card(const topology::Cluster& cluster, const Options& asked,
                      sim::Options& network) {
  sim::HostCard& card = network.card;
  card.half_duplex = asked.half_duplex;
  card.packets = asked.card_packets;
  card.bit_s = static_cast<std::uint64_t>(asked.card_mbit_s * kMega);
  if ((card.turn > 0 || card.bit_s > 0) && !card.half_duplex) {
    return base::bad_input(
        "options: overheads_ns `turn` and `card_mbit_s` are those of cards with half_duplex");
  }
  if (card.half_duplex && (network.costs.gap > 0 || network.pauses.interval > 0)) {
    return base::bad_input(
        "options: half_duplex cards have o_s, o_r, u_r and turn; no gap and no pauses");
  }
  const bool waits = std::any_of(
      cluster.switches.begin(), cluster.switches.end(),
      [](const auto& node) { return node.flow_control == topology::FlowControl::kBackPressure; });
  if (card.packets > 0 && !waits) {
    return base::bad_input(
        "options: `card_packets` needs switches that wait, with flow_control back-pressure");
  }
  return {};
}

base::Status set_jitter(Scenario& out) {
  const Options& asked = out.asked;
  if (asked.jitter == "start") {
    out.jitter = {asked.jitter_us, asked.seed};
    return {};
  }
  if (asked.jitter_us > 0 && asked.jitter_interval_us <= 0) {
    return base::bad_input(
        "options: jitter `pause` needs jitter_interval_us, the mean time between pauses");
  }
  out.network.pauses = {asked.jitter_us, asked.jitter_interval_us, asked.seed};
  return {};
}

}  // namespace

base::Status set_network(const topology::Cluster& cluster, Scenario& out) {
  const Options& asked = out.asked;
  sim::Options& network = out.network;
  if (auto set = set_jitter(out); !set) return set;
  if (auto set = set_routes(cluster, asked, network); !set) return set;
  network.host_queue_packets = asked.host_queue_packets;
  network.output_frames = asked.output_frames;
  set_costs(asked.overheads_ns, network);
  if (auto set = set_card(cluster, asked, network); !set) return set;
  network.time_max = asked.time_max_s;
  network.events_max = asked.events_max;
  const std::uint32_t datagram = asked.datagram_bytes;
  network.frame_bytes =
      (datagram != 0 ? datagram + topology::kIpUdpBytes : cluster.framing.mtu_bytes) +
      cluster.framing.link_header_bytes;
  for (const Fault& fault : asked.faults) {
    if (auto added = add_fault(cluster, fault, network); !added) return added;
  }
  for (const Module& module : asked.modules) {
    if (auto added = add_module(cluster, module, network); !added) return added;
  }
  return {};
}

}  // namespace alm::scenario
