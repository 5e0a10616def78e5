#include <fmt/core.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>

#include "base/hostlist.h"
#include "base/toml.h"
#include "bindings/bindings.h"
#include "scenario/traffic.h"
#include "topology/bound.h"
#include "topology/cluster.h"
#include "topology/find_hosts.h"
#include "topology/generate.h"
#include "topology/graph.h"
#include "topology/leaf_traffic.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace alm::bindings {

using topology::Cluster;

std::vector<base::HostId> participants(const Cluster& cluster, const HostNames& names) {
  return names ? value_or_raise(topology::find_hosts(cluster, *names))
               : topology::all_hosts(cluster);
}

std::vector<std::uint64_t> read_traffic(const nb::object& rows, std::size_t ranks,
                                        const std::string& where) {
  scenario::Rows values;
  if (!nb::try_cast(rows, values)) {
    throw RaisedError{
        base::bad_input(where + ": expected rows of whole numbers of bytes, 0 or more")};
  }
  return value_or_raise(scenario::matrix_of(values, ranks, where));
}

namespace {

// Messages that combine blocks share packets.
topology::Packing packing_of(bool combines) {
  return combines ? topology::Packing::kShared : topology::Packing::kPerMessage;
}

// A link as Python sees it: names instead of node numbers.
struct NamedLink {
  std::string from, to;
  topology::Link link;
};

std::vector<NamedLink> named_links(const Cluster& cluster) {
  std::vector<NamedLink> out;
  out.reserve(cluster.links.size());
  for (const topology::Link& link : cluster.links) {
    out.push_back({cluster.node_name(link.from), cluster.node_name(link.to), link});
  }
  return out;
}

// With the rates of these links, which are those of the cluster in their order.
Cluster with_rates(const Cluster& cluster, const std::vector<NamedLink>& links) {
  Cluster out = cluster;
  if (links.size() != out.links.size()) {
    throw RaisedError{base::bad_input(fmt::format("{} links; expected the {} of cluster {}",
                                                  links.size(), out.links.size(), cluster.name))};
  }
  const auto is_rate = [](double rate) { return std::isfinite(rate) && rate > 0; };
  const std::vector<NamedLink> own = named_links(cluster);
  for (std::size_t i = 0; i < links.size(); ++i) {
    const auto& [from, to, link] = links[i];
    if (from != own[i].from || to != own[i].to) {
      throw RaisedError{base::bad_input(fmt::format("link {} goes from {} to {}; expected {} to {}",
                                                    i, from, to, own[i].from, own[i].to))};
    }
    if (!is_rate(link.rate_up_mbit_s) || !is_rate(link.rate_down_mbit_s)) {
      throw RaisedError{
          base::bad_input(fmt::format("link {} to {}: {} and {} Mbit/s; expected rates above 0",
                                      from, to, link.rate_up_mbit_s, link.rate_down_mbit_s))};
    }
    out.links[i].rate_up_mbit_s = link.rate_up_mbit_s;
    out.links[i].rate_down_mbit_s = link.rate_down_mbit_s;
    out.links[i].bidirectional_cap_mbit_s = link.bidirectional_cap_mbit_s;
  }
  return out;
}

Cluster scaled_checked(const Cluster& cluster, double factor) {
  constexpr double kMost = 1e6;
  if (!(factor >= 1 / kMost && factor <= kMost)) {
    throw RaisedError{base::bad_input(fmt::format(
        "scale {} cannot multiply rates; expected a number from 0.000001 to 1000000", factor))};
  }
  Cluster made = topology::scaled(cluster, factor);
  double most = 0;
  for (const topology::Link& link : made.links) {
    most =
        std::max({most, link.rate_up_mbit_s, link.rate_down_mbit_s, link.bidirectional_cap_mbit_s});
  }
  for (const topology::Switch& each : made.switches) most = std::max(most, each.backplane_mbit_s);
  if (most <= topology::kRateMax) return made;
  throw RaisedError{base::bad_input(
      fmt::format("scale {} makes a link or a switch faster than {:.0f} Mbit/s; expected a smaller "
                  "one",
                  factor, topology::kRateMax))};
}

void bind_cluster_parts(nb::module_& m) {
  using topology::Host;
  using topology::LevelLimit;
  using topology::Switch;
  nb::class_<Host>(m, "Host", "A host of a cluster file.")
      .def_ro("name", &Host::name)
      .def_ro("address", &Host::address, "Empty if whoever uses the cluster assigns it.")
      .def_ro("interface", &Host::interface, "Empty if the route to the peers decides.")
      .def_ro("links", &Host::links, "How many it has.")
      .def_prop_ro(
          "interfaces",
          [](const Host& host) {
            std::vector<std::string> out{host.interface};
            for (const Host::Nic& nic : host.further) out.push_back(nic.interface);
            return out;
          },
          "One for each link, or for the first alone if the file says nothing of the others.")
      .def("__repr__", [](const Host& host) { return fmt::format("Host({})", host.name); });
  nb::class_<Switch>(m, "Switch", "A switch of a cluster file.")
      .def_ro("name", &Switch::name)
      .def_prop_ro(
          "architecture", [](const Switch& node) { return topology::word(node.architecture); },
          "input, output or shared")
      .def_prop_ro(
          "switching",
          [](const Switch& node) {
            return node.switching == topology::Switching::kCutThrough ? "cut-through"
                                                                      : "store-and-forward";
          },
          "cut-through or store-and-forward")
      .def_prop_ro(
          "flow_control",
          [](const Switch& node) {
            return node.flow_control == topology::FlowControl::kDrop ? "drop" : "back-pressure";
          },
          "drop or back-pressure")
      .def_ro("buffer_packets", &Switch::buffer_packets, "Shared pool; 0: the port queues alone.")
      .def_ro("buffer_alpha", &Switch::buffer_alpha,
              "A queue may grow to so many times the free pool; 0: as long as the pool has room.")
      .def_ro("backplane_mbit_s", &Switch::backplane_mbit_s, "0: carries everything.")
      .def_ro("site", &Switch::site, "Where its hosts are; empty: the cluster has no sites.")
      .def("__repr__", [](const Switch& node) { return fmt::format("Switch({})", node.name); });
  nb::class_<NamedLink>(m, "Link",
                        "A link. Up is from_ -> to, down is back; a queue is the egress queue at "
                        "the sending end.")
      .def_ro("from_", &NamedLink::from)
      .def_ro("to", &NamedLink::to)
      .def_prop_ro("rate_up_mbit_s", [](const NamedLink& l) { return l.link.rate_up_mbit_s; })
      .def_prop_ro("rate_down_mbit_s", [](const NamedLink& l) { return l.link.rate_down_mbit_s; })
      .def(
          "at_rate",
          [](NamedLink l, double mbit_s) {
            l.link.rate_up_mbit_s = l.link.rate_down_mbit_s = mbit_s;
            return l;
          },
          "mbit_s"_a, "The same link at this rate, both ways.")
      .def(
          "scaled",
          [](NamedLink l, double factor) {
            l.link.rate_up_mbit_s *= factor;
            l.link.rate_down_mbit_s *= factor;
            l.link.bidirectional_cap_mbit_s *= factor;
            return l;
          },
          "factor"_a, "The same link with its rates multiplied.")
      .def_prop_ro("latency_us", [](const NamedLink& l) { return l.link.latency_us; })
      .def_prop_ro("queue_up_packets", [](const NamedLink& l) { return l.link.queue_up_packets; })
      .def_prop_ro("queue_down_packets",
                   [](const NamedLink& l) { return l.link.queue_down_packets; })
      .def_prop_ro(
          "bidirectional_cap_mbit_s",
          [](const NamedLink& l) { return l.link.bidirectional_cap_mbit_s; }, "0: none.")
      .def_prop_ro(
          "one_way", [](const NamedLink& l) { return l.link.one_way; }, "Nothing travels down.")
      .def_prop_ro(
          "ecn_packets", [](const NamedLink& l) { return l.link.ecn_packets; },
          "Queue length from which a switch marks packets; 0: never.")
      .def("__repr__",
           [](const NamedLink& l) { return fmt::format("Link({}, {})", l.from, l.to); });
  nb::class_<topology::Bisection>(m, "Bisection", "The least cut between two halves of the hosts.")
      .def_ro("links", &topology::Bisection::links)
      .def_ro("mbit_s", &topology::Bisection::mbit_s, "From one half to the other.")
      .def("__repr__", [](const topology::Bisection& b) {
        return fmt::format("Bisection({} links, {} Mbit/s)", b.links, b.mbit_s);
      });
  nb::class_<LevelLimit>(m, "LevelLimit", "What an all-to-all asks of one level of directed links.")
      .def_ro("level", &LevelLimit::level)
      .def_ro("seconds", &LevelLimit::seconds, "What the busiest link of the level needs.")
      .def_ro("busiest", &LevelLimit::busiest)
      .def_ro("rate_mbit_s", &LevelLimit::rate_mbit_s)
      .def_ro("bytes", &LevelLimit::bytes, "Framed bytes that must cross the busiest link.")
      .def("__repr__", [](const LevelLimit& limit) {
        return fmt::format("LevelLimit({}, {} s)", limit.level, limit.seconds);
      });
}

void bind_price(nb::module_& m) {
  using topology::Cost;
  using topology::Price;
  nb::class_<Price>(m, "Price", "The [price] of a cluster file.")
      .def_ro("currency", &Price::currency)
      .def_ro("host", &Price::host, "What connects one host.")
      .def_ro("link", &Price::link, "One cable.");
  nb::class_<Cost>(m, "Cost", "What a cluster's parts cost.")
      .def_ro("hosts", &Cost::hosts)
      .def_ro("switches", &Cost::switches)
      .def_ro("links", &Cost::links)
      .def_prop_ro("total", &Cost::total);
}

void bind_cluster(nb::module_& m) {
  nb::class_<Cluster>(m, "Cluster", "Hosts, switches and links. Rates are in Mbit/s.")
      .def_ro("name", &Cluster::name)
      .def_ro("description", &Cluster::description)
      .def_prop_ro("mtu_bytes", [](const Cluster& c) { return c.framing.mtu_bytes; })
      .def_prop_ro("link_header_bytes",
                   [](const Cluster& c) { return c.framing.link_header_bytes; })
      .def_prop_ro(
          "hosts", [](const Cluster& c) { return c.hosts; }, "In file order.")
      .def_prop_ro(
          "switches", [](const Cluster& c) { return c.switches; }, "In file order.")
      .def_prop_ro("links", named_links, "In file order.")
      .def("with_rates", with_rates, "links"_a,
           "The same cluster with the rates of these links, which are its own in their order.")
      .def("scaled", scaled_checked, "factor"_a,
           "The same cluster with every rate multiplied; queues and latencies stay.")
      .def(
          "sites",
          [](const Cluster& c) {
            const auto sites = topology::sites(c);
            std::vector<std::string> out;
            for (const std::uint32_t site : sites.of) out.push_back(sites.names[site]);
            return out;
          },
          "One for each host, in file order; empty if the file names none.")
      .def(
          "latency_seconds",
          [](const Cluster& c, const HostNames& hosts) {
            return topology::latency_seconds(c, participants(c, hosts));
          },
          "hosts"_a.none(),
          "The longest route between two of these hosts (None: all), by the latencies of its "
          "links.")
      .def("to_toml", topology::to_toml, "The cluster file that reads back as this cluster.")
      // A cluster goes to other processes as its file.
      .def("__getstate__", topology::to_toml)
      .def("__setstate__",
           [](Cluster& self, const std::string& text) {
             new (&self) Cluster(value_or_raise(topology::parse_cluster(text, "cluster")));
           })
      .def(
          "framed_bytes",
          [](const Cluster& c, std::uint64_t bytes) {
            return topology::framed_bytes(c.framing, bytes);
          },
          "bytes"_a, "What one message occupies on a link, with the least framing.")
      .def(
          "limit_seconds",
          [](const Cluster& c, const HostNames& hosts, std::uint64_t bytes, bool combines) {
            return topology::alltoall_limit_seconds(c, participants(c, hosts), bytes,
                                                    packing_of(combines));
          },
          "hosts"_a.none(), "bytes"_a, "combines"_a = false,
          "The least time an all-to-all of so many bytes per pair takes on these hosts (None: "
          "all).")
      .def(
          "level_limits",
          [](const Cluster& c, const HostNames& hosts, std::uint64_t bytes) {
            return topology::alltoall_limits(c, participants(c, hosts), bytes);
          },
          "hosts"_a.none(), "bytes"_a, "The same for each level of directed links.")
      .def(
          "traffic_limit_seconds",
          [](const Cluster& c, const HostNames& hosts, const nb::object& matrix, bool combines) {
            const auto ranks = participants(c, hosts);
            return topology::traffic_limit_seconds(
                c, ranks, read_traffic(matrix, ranks.size(), "matrix"), packing_of(combines));
          },
          "hosts"_a.none(), "matrix"_a, "combines"_a = false,
          nb::sig("def traffic_limit_seconds(self, hosts: collections.abc.Sequence[str] | None, "
                  "matrix: collections.abc.Sequence[collections.abc.Sequence[int]], combines: bool "
                  "= False) -> float"),
          "The least time an exchange takes in which rank r, on hosts[r], sends matrix[r][s] bytes "
          "to rank s. Several ranks may share a host.")
      .def(
          "bound_seconds",
          [](const Cluster& c, const HostNames& hosts, std::uint64_t bytes, bool combines) {
            return topology::alltoall_bound_seconds(c, participants(c, hosts), bytes,
                                                    packing_of(combines));
          },
          "hosts"_a.none(), "bytes"_a, "combines"_a = false,
          "As limit_seconds, with the least times before and after each link: for small blocks "
          "too.")
      .def(
          "traffic_bound_seconds",
          [](const Cluster& c, const HostNames& hosts, const nb::object& matrix, bool combines) {
            const auto ranks = participants(c, hosts);
            return topology::traffic_bound_seconds(
                c, ranks, read_traffic(matrix, ranks.size(), "matrix"), packing_of(combines));
          },
          "hosts"_a.none(), "matrix"_a, "combines"_a = false,
          nb::sig("def traffic_bound_seconds(self, hosts: collections.abc.Sequence[str] | None, "
                  "matrix: collections.abc.Sequence[collections.abc.Sequence[int]], combines: bool "
                  "= False) -> float"),
          "The same of traffic_limit_seconds.")
      .def("is_tree", topology::is_tree, "Whether one path joins any two hosts.")
      .def(
          "leaf_traffic",
          [](const Cluster& c, const HostNames& hosts, const nb::object& amount, bool combines) {
            const auto ranks = participants(c, hosts);
            const topology::Packing packing = packing_of(combines);
            std::uint64_t bytes = 0;
            const topology::LeafTraffic traffic =
                nb::try_cast(amount, bytes)
                    ? topology::alltoall_leaf_traffic(c, ranks, bytes, packing)
                    : topology::leaf_traffic(c, ranks, read_traffic(amount, ranks.size(), "matrix"),
                                             packing);
            std::vector<std::string> names;
            for (const topology::NodeId end : traffic.ends) names.push_back(c.node_name(end));
            return std::pair(std::move(names), traffic.bytes);
          },
          "hosts"_a.none(), "amount"_a, "combines"_a = false,
          nb::sig("def leaf_traffic(self, hosts: collections.abc.Sequence[str] | None, amount: int "
                  "| collections.abc.Sequence[collections.abc.Sequence[int]], combines: bool = "
                  "False) -> tuple[list[str], list[float]]"),
          "Framed bytes between the switches that hosts hang on (or hosts with several links), row "
          "by row: of an all-to-all of `amount` bytes per pair, or of a matrix.")
      .def_prop_ro(
          "price", [](const Cluster& c) { return c.price; },
          "What its parts cost, where the file says so.")
      .def("cost", topology::cost, "What its parts cost together, where the file says so.")
      .def(
          "schedule_hierarchy",
          [](const Cluster& c) { return topology::schedule_hierarchy(c).level; },
          "schedule_hierarchy()[l][h]: index of the group host h belongs to at level l; level 0 is "
          "the leaf switch, and the only level where the switches form no tree.")
      .def(
          "root_switch", [](const Cluster& c) { return c.node_name(topology::root_switch(c)); },
          "Name of the switch in the middle, from which the tree hangs.")
      .def(
          "bisection", [](const Cluster& c) { return value_or_raise(topology::bisection(c)); },
          "The least that parts the hosts into halves. Raises BadInput where it is out of reach.")
      .def("warnings", topology::assumption_warnings,
           "Where the cluster does not grant what schedules and windows assume.")
      .def("__repr__", [](const Cluster& c) {
        return fmt::format("Cluster({}, {} hosts)", c.name, c.hosts.size());
      });
}

}  // namespace

void bind_topology(nb::module_& m) {
  bind_cluster_parts(m);
  bind_price(m);
  bind_cluster(m);
  m.def(
      "load_cluster",
      [](const std::string& path) { return value_or_raise(topology::load_cluster(path)); },
      "path"_a, "Reads a cluster file.");
  m.def(
      "parse_cluster",
      [](std::string_view text, std::string_view source_name) {
        return value_or_raise(topology::parse_cluster(text, source_name));
      },
      "text"_a, "source_name"_a, "Reads a cluster file from a string; the name is for messages.");
  m.def(
      "generate", [](std::string_view name) { return value_or_raise(topology::generate(name)); },
      "name"_a, "The network of a generated name, such as fat-tree:128 or myrinet:4.");
  m.def("is_generated", topology::is_generated, "name"_a,
        "Whether the name is meant to be generated: its kind is known.");
  m.def("generated_forms", topology::generated_forms, "The grammar of generated names.");
  m.def(
      "check_toml",
      [](std::string_view text, std::string_view source_name) {
        value_or_raise(base::parse_toml(text, source_name));
      },
      "text"_a, "source_name"_a, "Refuses what is no TOML; the name is for messages.");
  m.def(
      "expand_hostlist",
      [](std::string_view list) { return value_or_raise(base::expand_hostlist(list)); }, "list"_a,
      "h[0-2],x -> h0 h1 h2 x (Slurm syntax).");
  m.def(
      "compress_hostlist",
      [](const std::vector<std::string>& names) { return base::compress_hostlist(names); },
      "names"_a, "h0 h1 h2 x -> h[0-2],x; keeps the order.");
}

}  // namespace alm::bindings
