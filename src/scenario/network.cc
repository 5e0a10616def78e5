#include "scenario/network.h"

#include <fmt/core.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <tuple>

#include "topology/graph.h"

namespace nb = nanobind;

namespace alm::bindings {
namespace {

using harness::find_port;

std::uint32_t port_of(Reader& reader, const topology::Cluster& cluster) {
  return value_or_raise(find_port(cluster, reader.text("from", ""), reader.text("to", "")));
}

sim::Fault read_fault(const topology::Cluster& cluster, const nb::dict& values,
                      std::uint32_t frame_bytes, std::size_t number) {
  Reader reader(values, fmt::format("faults[{}]", number));
  sim::Fault fault;
  const std::string kind = reader.text("kind", "");
  if (kind == "slow-host") {
    fault.kind = sim::Fault::Kind::kSlowHost;
    fault.host = host_named(cluster, reader.text("host", ""));
    fault.factor = reader.get<double>("factor", 2, "a number");
  } else if (kind == "link-down" || kind == "block-port") {
    fault.port = port_of(reader, cluster);
    fault.kind = kind == "link-down" ? sim::Fault::Kind::kLinkDown : sim::Fault::Kind::kBlockPort;
    fault.after_packets = reader.count32("after_packets", 0);
  } else if (kind == "lossy-link") {
    fault.port = port_of(reader, cluster);
    fault.kind = sim::Fault::Kind::kLossyLink;
    fault.part = reader.get<double>("part", 0, "a number");
    fault.seed = reader.count32("seed", 1);
  } else {
    refuse(
        fmt::format("{}: kind `{}` is unknown; expected link-down, lossy-link, block-port or "
                    "slow-host",
                    reader.where(), kind));
  }
  fault.start = reader.time("start_us", sim::kPicosPerMicro);
  fault.duration = reader.time("duration_us", sim::kPicosPerMicro);
  if (fault.kind == sim::Fault::Kind::kBlockPort && reader.has("duration_packets")) {
    // Packet times of the slowest participant: those of a host link.
    const double packets = reader.get<double>("duration_packets", 0, "a number");
    const topology::Link& first = cluster.links.front();
    constexpr double kBitsTimesMicro = 8;
    const double rate = std::min(first.rate_up_mbit_s, first.rate_down_mbit_s);
    fault.duration = std::llround(packets * frame_bytes * kBitsTimesMicro / rate *
                                  static_cast<double>(sim::kPicosPerMicro));
  }
  reader.finish();
  return fault;
}

sim::Module read_module(const topology::Cluster& cluster, const nb::dict& values,
                        std::size_t number) {
  Reader reader(values, fmt::format("modules[{}]", number));
  sim::Module module;
  module.link = port_of(reader, cluster) / 2;
  module.both_ways_mbit_s = reader.get<double>("cap_mbit_s", 0, "a number");
  module.per_packet = reader.time("per_packet_ns", sim::kPicosPerNano);
  module.per_waiting = reader.time("per_waiting_ns", sim::kPicosPerNano);
  reader.finish();
  return module;
}

// Rows as LID tables are written: of each switch, for each number the port, from 1 on in the order
// of the switch's links; 0: none.
std::vector<std::uint32_t> read_lid_tables(const topology::Cluster& cluster,
                                           const nb::object& rows) {
  std::vector<std::vector<std::uint32_t>> values;
  if (!nb::try_cast(rows, values)) refuse("options: `lid_tables` is no list of rows of ports");
  if (values.size() != cluster.switches.size()) {
    refuse(fmt::format("options: `lid_tables` has {} rows; expected {}, one for each switch",
                       values.size(), cluster.switches.size()));
  }
  const topology::Adjacency adjacency(cluster);
  std::vector<std::uint32_t> out;
  for (std::uint32_t i = 0; i < values.size(); ++i) {
    const std::uint32_t node = cluster.host_count() + i;
    for (const std::uint32_t number : values[i]) {
      if (number == 0) {
        out.push_back(routing::kNoPort);
        continue;
      }
      if (number > adjacency[node].size()) {
        refuse(fmt::format("options: `lid_tables`: switch `{}` has no port {}; expected 1 to {}",
                           cluster.switches[i].name, number, adjacency[node].size()));
      }
      const std::uint32_t link = adjacency[node][number - 1].link;
      out.push_back(cluster.links[link].from.value == node ? routing::up_port(link)
                                                           : routing::down_port(link));
    }
  }
  return out;
}

// Rows of [from, to, routes], each route the names of the switches on it.
std::vector<routing::GivenRoutes> read_given(const topology::Cluster& cluster,
                                             const nb::object& rows) {
  std::vector<std::tuple<std::string, std::string, std::vector<std::vector<std::string>>>> values;
  if (!nb::try_cast(rows, values)) {
    refuse("options: `routes` is no list of [from, to, [[switch, ..], ..]]");
  }
  std::vector<routing::GivenRoutes> out;
  for (const auto& [from, to, routes] : values) {
    routing::GivenRoutes& given = out.emplace_back();
    given.from = host_named(cluster, from);
    given.to = host_named(cluster, to);
    for (const std::vector<std::string>& route : routes) {
      auto& switches = given.routes.emplace_back();
      for (const std::string& name : route) {
        const auto found = std::find_if(cluster.switches.begin(), cluster.switches.end(),
                                        [&](const auto& node) { return node.name == name; });
        if (found == cluster.switches.end()) {
          refuse(fmt::format("options: `routes`: no switch is called `{}`", name));
        }
        switches.push_back(static_cast<std::uint32_t>(found - cluster.switches.begin()));
      }
    }
  }
  return out;
}

void read_routes(Reader& reader, const topology::Cluster& cluster, sim::Options& network) {
  network.rule = value_or_raise(routing::parse_rule(reader.text("routing", "d-mod-k")));
  network.routes.lmc = reader.count32("lmc", 0);
  const std::string engine = reader.text("lid_engine", "minhop");
  if (engine == "updn") {
    network.routes.lid_engine = routing::LidEngine::kUpDown;
  } else if (engine != "minhop") {
    refuse(fmt::format("options: lid_engine `{}` is unknown; expected minhop or updn", engine));
  }
  const nb::object tables = reader.object("lid_tables");
  if (!tables.is_none()) network.routes.lid_ports = read_lid_tables(cluster, tables);
  if (network.rule != routing::Rule::kLid &&
      (network.routes.lmc != 0 || engine != "minhop" || !tables.is_none())) {
    refuse("options: `lmc`, `lid_engine` and `lid_tables` are of routing=lid");
  }
  const nb::object given = reader.object("routes");
  if (given.is_none() != (network.rule != routing::Rule::kGiven)) {
    refuse("options: `routes` and routing=given belong together");
  }
  if (!given.is_none()) network.routes.given = read_given(cluster, given);
  if (reader.has("reroute_us")) {
    network.reroute_delay = reader.time("reroute_us", sim::kPicosPerMicro);
  }
}

// After the overheads and pauses.
void read_card(Reader& reader, const topology::Cluster& cluster, SimulateOptions& out) {
  sim::HostCard& card = out.network.card;
  card.half_duplex = reader.flag("half_duplex", false);
  card.packets = reader.count32("card_packets", 0);
  constexpr double kMega = 1e6;
  const double rate = reader.get<double>("card_mbit_s", 0, "a number");
  if (!(rate >= 0 && rate <= kMega)) {
    refuse(fmt::format("options: `card_mbit_s` is {}; expected 0 to {}", rate, kMega));
  }
  card.bit_s = static_cast<std::uint64_t>(rate * kMega);
  if ((card.turn > 0 || card.bit_s > 0) && !card.half_duplex) {
    refuse("options: overheads_ns `turn` and `card_mbit_s` are those of cards with half_duplex");
  }
  if (card.half_duplex && (out.network.costs.gap > 0 || out.network.pauses.interval > 0)) {
    refuse("options: half_duplex cards have o_s, o_r, u_r and turn; no gap and no pauses");
  }
  const bool waits = std::any_of(
      cluster.switches.begin(), cluster.switches.end(),
      [](const auto& node) { return node.flow_control == topology::FlowControl::kBackPressure; });
  if (card.packets > 0 && !waits) {
    refuse("options: `card_packets` needs switches that wait, with flow_control back-pressure");
  }
}

}  // namespace

void read_network(Reader& reader, const topology::Cluster& cluster, SimulateOptions& out) {
  read_routes(reader, cluster, out.network);
  out.network.host_queue_packets =
      reader.count32("host_queue_packets", out.network.host_queue_packets, 1);
  out.network.output_frames = reader.count32("output_frames", out.network.output_frames);
  const nb::object overheads = reader.object("overheads_ns");
  if (!overheads.is_none()) {
    const nb::dict values = as_dict(overheads, "options: `overheads_ns`");
    Reader costs(values, "overheads_ns");
    out.network.costs.send = costs.time("o_s", sim::kPicosPerNano);
    out.network.costs.user = costs.time("u_r", sim::kPicosPerNano);
    out.network.costs.receive = costs.time("o_r", sim::kPicosPerNano) + out.network.costs.user;
    out.network.costs.gap = costs.time("g", sim::kPicosPerNano);
    out.network.card.turn = costs.time("turn", sim::kPicosPerNano);
    costs.finish();
  }
  read_card(reader, cluster, out);
}

void read_faults(Reader& reader, const topology::Cluster& cluster, SimulateOptions& out) {
  for (const char* key : {"faults", "modules"}) {
    const nb::object list = reader.object(key);
    if (list.is_none()) continue;
    if (!nb::isinstance<nb::sequence>(list)) refuse(fmt::format("options: `{}` is no list", key));
    std::size_t number = 0;
    for (const nb::handle one : list) {
      const nb::dict values = as_dict(one, fmt::format("{}[{}]", key, number));
      if (std::string_view(key) == "faults") {
        out.network.faults.push_back(read_fault(cluster, values, out.network.frame_bytes, number));
      } else {
        out.network.modules.push_back(read_module(cluster, values, number));
      }
      ++number;
    }
  }
}

}  // namespace alm::bindings
