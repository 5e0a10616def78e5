// The prober's experiments, simulated and over UDP. Logs go to Python as the bytes they are.
#include <fmt/core.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <memory>
#include <tuple>

#include "bindings/bindings.h"
#include "bindings/values.h"
#include "harness/probing.h"
#include "probe/experiment.h"
#include "probe/io/udp_runner.h"
#include "scenario/scenario.h"
#include "topology/cluster.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace alm::bindings {
namespace {

// from, to, start_ns, interval_ns, packets, bytes, train, echo, stamped
using FlowTuple = std::tuple<std::uint32_t, std::uint32_t, std::int64_t, std::int64_t,
                             std::uint32_t, std::uint32_t, std::uint32_t, bool, bool>;
// rank, start_ns, end_ns, interval_ns
using WatchTuple = std::tuple<std::uint32_t, std::int64_t, std::int64_t, std::int64_t>;

probe::Experiment experiment_of(std::uint32_t number, std::int64_t duration_ns,
                                const std::vector<FlowTuple>& flows,
                                const std::vector<WatchTuple>& watches) {
  probe::Experiment out{.number = number, .duration = duration_ns, .flows = {}, .watches = {}};
  for (const auto& [from, to, start, interval, packets, bytes, train, echo, stamped] : flows) {
    out.flows.push_back({.from = from,
                         .to = to,
                         .start = start,
                         .interval = interval,
                         .packets = packets,
                         .bytes = bytes,
                         .train = train,
                         .kind = echo ? probe::FlowKind::kEcho : probe::FlowKind::kOneWay,
                         .stamped = stamped});
  }
  for (const auto& [rank, start, end, interval] : watches) {
    out.watches.push_back({.rank = rank, .start = start, .end = end, .interval = interval});
  }
  return out;
}

template <class T>
nb::bytes bytes_of(const std::vector<T>& records) {
  return nb::bytes(static_cast<const void*>(records.data()), records.size() * sizeof(T));
}

nb::tuple tuple_of(const probe::Log& log) {
  return nb::make_tuple(bytes_of(log.sent), bytes_of(log.received), bytes_of(log.stalls),
                        log.overflow);
}

nb::list probe_by_simulation(const topology::Cluster& cluster, const nb::dict& options,
                             std::uint32_t number, std::int64_t duration_ns,
                             const std::vector<FlowTuple>& flows,
                             const std::vector<WatchTuple>& watches) {
  const auto read = value_or_raise(
      scenario::make_scenario(cluster, value_or_raise(scenario::read_options(table_of(options)))));
  const probe::Experiment experiment = experiment_of(number, duration_ns, flows, watches);
  harness::ProbeRequest request;
  request.cluster = &cluster;
  request.experiment = &experiment;
  request.overhead_bytes = topology::kIpUdpBytes + cluster.framing.link_header_bytes;
  request.network = read.network;
  base::Result<std::vector<probe::Log>> logs = [&] {
    const nb::gil_scoped_release release;
    return harness::simulate_probe(request);
  }();
  nb::list out;
  for (const probe::Log& log : value_or_raise(std::move(logs))) out.append(tuple_of(log));
  return out;
}

probe::Secret secret_of(const nb::bytes& given) {
  probe::Secret secret;
  if (given.size() != secret.size()) {
    throw RaisedError{base::bad_input(
        fmt::format("a secret of {} bytes; expected {}", given.size(), secret.size()))};
  }
  std::memcpy(secret.data(), given.c_str(), secret.size());
  return secret;
}

class ProbeSocket {
 public:
  ProbeSocket(const std::string& address, const nb::bytes& secret)
      : runner_(value_or_raise(probe::io::UdpRunner::open(address, secret_of(secret)))) {}

  std::tuple<std::string, std::uint32_t> local() const {
    return {io::to_numeric_string(runner_->local()), io::port_of(runner_->local())};
  }
  std::uint32_t datagram_bytes() const { return runner_->datagram_bytes(); }
  std::vector<std::string> warnings() const { return runner_->warnings(); }

  void set_peers(const std::vector<std::tuple<std::string, std::uint32_t>>& peers) {
    std::vector<io::Address> addresses;
    for (const auto& [numeric, port] : peers) {
      addresses.push_back(
          value_or_raise(io::make_address(numeric, static_cast<std::uint16_t>(port))));
    }
    runner_->set_peers(std::move(addresses));
  }

  nb::tuple run(std::uint32_t number, std::int64_t duration_ns, const std::vector<FlowTuple>& flows,
                const std::vector<WatchTuple>& watches, std::uint32_t self, std::int64_t begin_ns) {
    const probe::Experiment experiment = experiment_of(number, duration_ns, flows, watches);
    base::Result<probe::Log> log = [&] {
      const nb::gil_scoped_release release;
      return runner_->run(experiment, self, begin_ns);
    }();
    return tuple_of(value_or_raise(std::move(log)));
  }

 private:
  std::unique_ptr<probe::io::UdpRunner> runner_;
};

}  // namespace

void bind_probe(nb::module_& m) {
  m.attr("PROBE_HEADER_BYTES") = probe::kHeaderBytes;
  m.attr("PROBE_SECRET_BYTES") = probe::Secret{}.size();
  m.def("simulate_probe", &probe_by_simulation, "cluster"_a, "options"_a, "number"_a,
        "duration_ns"_a, "flows"_a, "watches"_a,
        nb::sig("def simulate_probe(cluster: Cluster, options: dict[str, typing.Any], number: int,"
                " duration_ns: int, flows: collections.abc.Sequence[tuple[int, int, int, int, int,"
                " int, int, bool, bool]],"
                " watches: collections.abc.Sequence[tuple[int, int, int, int]])"
                " -> list[tuple[bytes, bytes, bytes, int]]"),
        "(sent, received, stalls, overflow) of each host; options as of simulate().");
  nb::class_<ProbeSocket>(m, "ProbeSocket", "Carries out a rank's part of experiments over UDP.")
      .def(nb::init<const std::string&, const nb::bytes&>(), "address"_a, "secret"_a,
           "address: numeric; empty: that of the default route.")
      .def_prop_ro("local", &ProbeSocket::local, "(numeric address, port)")
      .def_prop_ro("datagram_bytes", &ProbeSocket::datagram_bytes,
                   "Largest datagram of one packet on the interface.")
      .def_prop_ro("warnings", &ProbeSocket::warnings)
      .def("set_peers", &ProbeSocket::set_peers, "peers"_a,
           "(numeric address, port) of all ranks, in their order.")
      .def("run", &ProbeSocket::run, "number"_a, "duration_ns"_a, "flows"_a, "watches"_a, "rank"_a,
           "begin_ns"_a,
           nb::sig("def run(self, number: int, duration_ns: int,"
                   " flows: collections.abc.Sequence[tuple[int, int, int, int, int, int, int,"
                   " bool, bool]], watches: collections.abc.Sequence[tuple[int, int, int, int]],"
                   " rank: int, begin_ns: int) -> tuple[bytes, bytes, bytes, int]"),
           "From begin_ns (CLOCK_REALTIME) on; returns when the experiment is over.");
}

}  // namespace alm::bindings
