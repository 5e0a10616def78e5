#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/bindings.h"
#include "harness/simulation.h"
#include "routing/routes.h"
#include "topology/graph.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace alm::bindings {
namespace {

using routing::LidEngine;
using routing::Rule;
using topology::Cluster;

LidEngine lid_engine_of(const std::string& name) {
  if (name == "minhop") return LidEngine::kMinHop;
  if (name == "updn") return LidEngine::kUpDown;
  throw RaisedError{
      base::bad_input("lid_engine `" + name + "` is unknown; expected minhop or updn")};
}

// Routes with the cluster they are of, for names.
struct NamedRoutes {
  Cluster cluster;
  Rule rule;
  routing::Routes routes;

  std::vector<std::string> names(const std::vector<std::uint32_t>& ports) const {
    std::vector<std::string> out;
    for (const std::uint32_t port : ports) out.push_back(harness::port_name(cluster, port));
    return out;
  }
};

NamedRoutes make_routes(const Cluster& cluster, const std::string& rule, std::uint32_t lmc,
                        const std::string& lid_engine) {
  const Rule parsed = value_or_raise(routing::parse_rule(rule));
  routing::Settings settings;
  settings.lmc = lmc;
  settings.lid_engine = lid_engine_of(lid_engine);
  return {cluster, parsed, value_or_raise(routing::Routes::make(cluster, parsed, settings))};
}

std::vector<std::string> path(const NamedRoutes& self, const std::string& from,
                              const std::string& to, std::uint32_t path_number) {
  const auto ends = participants(self.cluster, std::vector<std::string>{from, to});
  if (ends[0] == ends[1]) return {};
  return self.names(
      self.routes.path(ends[0].value, ends[1].value,
                       routing::label(self.rule, ends[0].value, ends[1].value, path_number)));
}

// Ports as numbers of their switches, from 1 on in the order of its links.
std::vector<std::vector<std::uint32_t>> lid_tables(const NamedRoutes& self) {
  const topology::Adjacency adjacency(self.cluster);
  std::vector<std::uint32_t> number(2 * self.cluster.links.size(), 0);
  for (std::uint32_t node = self.cluster.host_count(); node < adjacency.node_count(); ++node) {
    std::uint32_t next = 1;
    for (const topology::Edge& edge : adjacency[node]) {
      const bool up = self.cluster.links[edge.link].from.value == node;
      number[up ? routing::up_port(edge.link) : routing::down_port(edge.link)] = next++;
    }
  }
  const auto all = self.routes.lid_ports();
  const std::size_t width = all.size() / self.cluster.switches.size();
  std::vector<std::vector<std::uint32_t>> out(self.cluster.switches.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    out[i / width].push_back(all[i] == routing::kNoPort ? 0 : number[all[i]]);
  }
  return out;
}

}  // namespace

void bind_routing(nb::module_& m) {
  nb::class_<NamedRoutes>(m, "Routes", "Where packets go on a cluster.")
      .def("path", path, "from_"_a, "to"_a, "path_number"_a = 0,
           "The ports that a packet passes, as `leaf0 -> spine1`; `path_number` is the LID offset, "
           "the entropy or the number of the message, as the rule has it.")
      .def("lid_tables", lid_tables,
           "For each switch and each number of each host, the port that leads there, from 1 on in "
           "the "
           "order of the switch's links; 0: none. Rows are empty unless the rule is lid.");
  m.def("make_routes", make_routes, "cluster"_a, "routing"_a, "lmc"_a = 0,
        "lid_engine"_a = "minhop",
        "Routes by a rule of the simulator's option `routing`. Raises BadInput for an unknown "
        "rule, a host that cannot be reached, and an LMC above 7.");
}

}  // namespace alm::bindings
