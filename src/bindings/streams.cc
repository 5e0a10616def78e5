#include "harness/streams.h"

#include <fmt/core.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <map>

#include "bindings/bindings.h"
#include "bindings/values.h"
#include "harness/simulation.h"
#include "scenario/scenario.h"
#include "topology/cluster.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace alm::bindings {
namespace {

using topology::Cluster;

// `options` are those of simulate(); what is not of the network counts nothing.
nb::dict simulate_streams(const Cluster& cluster,
                          const std::vector<std::pair<std::string, std::string>>& streams,
                          std::uint64_t message_bytes, double duration_s, double warm_up_s,
                          const nb::dict& options) {
  const auto read = value_or_raise(
      scenario::make_scenario(cluster, value_or_raise(scenario::read_options(table_of(options)))));
  harness::StreamRequest request;
  request.cluster = &cluster;
  for (const auto& [from, to] : streams) {
    const auto ends = participants(cluster, std::vector<std::string>{from, to});
    request.streams.push_back({ends[0].value, ends[1].value});
  }
  request.message_bytes = message_bytes;
  request.packet_bytes = cluster.framing.mtu_bytes;
  request.overhead_bytes = cluster.framing.link_header_bytes;
  request.network = read.network;
  constexpr double kSecondsMax = 1e5;
  if (!(duration_s > 0 && duration_s <= kSecondsMax && warm_up_s >= 0 &&
        warm_up_s <= kSecondsMax)) {
    throw RaisedError{base::bad_input(
        fmt::format("streams of {} s after {} s; expected times up to {} s, the first above 0",
                    duration_s, warm_up_s, kSecondsMax))};
  }
  const auto picos = [](double seconds) {
    return static_cast<sim::Picos>(
        std::llround(seconds * static_cast<double>(sim::kPicosPerSecond)));
  };
  request.duration = picos(duration_s);
  request.warm_up = picos(warm_up_s);
  const auto result = [&] {
    const nb::gil_scoped_release release;
    return harness::simulate_streams(request);
  }();
  const harness::StreamResult found = value_or_raise(result);
  nb::dict out;
  out["bit_s"] = found.bit_s;
  std::map<std::string, std::uint64_t> ports;
  for (std::uint32_t port = 0; port < found.ports.size(); ++port) {
    ports[harness::port_name(cluster, port)] += found.ports[port].bytes;
  }
  out["port_bytes"] = ports;
  return out;
}

}  // namespace

void bind_streams(nb::module_& m) {
  m.def("simulate_streams", simulate_streams, "cluster"_a, "streams"_a, "message_bytes"_a,
        "duration_s"_a, "warm_up_s"_a, "options"_a,
        nb::sig("def simulate_streams(cluster: Cluster, streams: "
                "collections.abc.Sequence[tuple[str, str]], message_bytes: int, duration_s: float, "
                "warm_up_s: float, options: dict[str, typing.Any]) -> dict[str, typing.Any]"),
        "Simulates streams between pairs of hosts, one message after another as fast as cards and "
        "back-pressure let them. The result has `bit_s` of each stream, and `port_bytes`: what "
        "crossed the links from one node to another.");
}

}  // namespace alm::bindings
