// What a simulation adds to its routes: the load that a choice is made by, and making them anew
// when links go down or come back.
#include "sim/simulator.h"

namespace alm::sim {

std::uint32_t Simulator::enter(const Packet& packet) {
  const std::uint32_t from = packet.source, to = packet.destination;
  if (options_.rule != routing::Rule::kLeastLoaded) return routes_.enter(from, to, packet.flow);
  // A message keeps the route it began with: the label is its number.
  std::uint64_t& chosen = chosen_[std::size_t{from} * net_.hosts.size() + to];
  const std::uint64_t begun = std::uint64_t{packet.flow} + 1;
  if (chosen / 2 != begun) {
    const std::uint64_t first = load_from(routes_.route(from, to, 0));
    const std::uint64_t second = load_from(routes_.route(from, to, 1));
    chosen = 2 * begun + (second < first ? 1 : 0);
  }
  return routes_.route(from, to, chosen % 2);
}

// Packets at the switches of a route and on its links, as a watcher of the whole network sees them.
std::uint64_t Simulator::load_from(std::uint32_t route) {
  std::uint64_t load = 0;
  for (std::uint32_t flow = route;; ++flow) {
    const std::uint32_t port = routes_.port_at(flow);
    load += net_.load_of(port);
    if (routes_.ends(port)) return load;
  }
}

void Simulator::reroute() {
  const Picos seen = net_.now - options_.reroute_delay;
  (void)reroute_without(net_.faults.links_down(cluster_.links.size(), seen));
}

// Where no route is left to some host the earlier routes stay, as those of a manager would whose
// new ones fail.
base::Status Simulator::reroute_without(const std::vector<bool>& dead) {
  routing::Settings settings = options_.routes;
  settings.lid_ports.clear();  // those from outside know nothing of it
  settings.dead = dead;
  auto made = routing::Routes::make(cluster_, options_.rule, settings);
  rerouted_.push_back({net_.now, made.ok()});
  if (!made) return made.error();
  made.value().keep_routes_of(routes_);
  routes_ = std::move(made).value();
  return {};
}

}  // namespace alm::sim
