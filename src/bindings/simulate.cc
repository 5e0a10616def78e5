// simulate() and simulate_flows(): what the room `scenario` runs, with its results as Python has
// them.
#include "scenario/simulate.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <exception>
#include <functional>
#include <utility>

#include "bindings/bindings.h"
#include "bindings/values.h"
#include "scenario/flows.h"
#include "topology/cluster.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace alm::bindings {
namespace {

using scenario::Outcome;
using topology::Cluster;

nb::list ports_of(const Outcome& outcome) {
  nb::list out;
  for (std::size_t port = 0; port < outcome.port_names.size(); ++port) {
    const sim::PortStats& stats = outcome.total.ports[port];
    nb::dict one;
    one["name"] = outcome.port_names[port];
    one["packets"] = stats.packets;
    one["bytes"] = stats.bytes;
    one["dropped"] = stats.dropped + stats.input_dropped;
    one["queue_high_water"] = stats.queue_high_water;
    one["input_dropped"] = stats.input_dropped;
    one["input_high_water"] = stats.input_high_water;
    one["busy_s"] = scenario::seconds(stats.busy);
    out.append(one);
  }
  return out;
}

void add_shares(nb::dict& out, const scenario::Shares& shares) {
  nb::list jobs;
  for (const auto& job : shares.jobs) {
    nb::dict one;
    one["time_s"] = job.time_s;
    one["exchange_s"] = job.exchange_s;
    one["data_packets"] = job.data_packets;
    one["retransmitted"] = job.retransmitted;
    one["window_cuts"] = job.window_cuts;
    jobs.append(one);
  }
  nb::list flows;
  for (const auto& flow : shares.background) {
    nb::dict one;
    one["from"] = flow.from;
    one["to"] = flow.to;
    one["mbit_s"] = flow.mbit_s;
    one["fair_mbit_s"] = flow.fair_mbit_s;
    one["packets"] = flow.packets;
    one["retransmitted"] = flow.retransmitted;
    one["timeouts"] = flow.timeouts;
    flows.append(one);
  }
  out["fair_share_s"] = shares.fair_share_s;
  out["jobs"] = jobs;
  out["together_fraction"] = shares.together_fraction;
  out["background"] = flows;
}

nb::dict dict_of(const harness::TcpResult& tcp) {
  nb::dict out;
  out["timeouts"] = tcp.timeouts;
  out["probes"] = tcp.probes;
  out["waits"] = tcp.waits;
  out["window_cuts"] = tcp.cuts;
  out["marked"] = tcp.marked;
  out["exchange_waits"] = tcp.exchange_waits;
  out["waiting_receivers"] = tcp.waiting_receivers;
  return out;
}

nb::dict dict_of(const Outcome& outcome) {
  const harness::SimResult& total = outcome.total;
  const transport::Counters& counters = total.counters;
  nb::dict out;
  out["host_order"] = outcome.host_order;
  out["combines"] = outcome.combines;
  out["warnings"] = outcome.warnings;
  out["mode"] = "packet";
  out["algorithm"] = outcome.algorithm;
  out["hosts"] = outcome.host_order.size();
  out["ranks"] = outcome.ranks;
  out["size"] = outcome.size;
  out["time_s"] = outcome.time_s;
  out["limit_s"] = outcome.limit_s;
  out["fraction_of_limit"] = outcome.fraction_of_limit;
  out["simulated_s"] = outcome.simulated_s;
  out["dropped"] = total.dropped;
  out["retransmitted"] = counters.data_retransmitted;
  out["packet_hops"] = total.packet_hops;
  out["events"] = total.events;
  out["bottleneck"] = outcome.bottleneck;
  out["exchange_s"] = outcome.exchange_s;
  out["exchange_ps"] = total.exchange_time;
  out["rank_time_s"] = outcome.rank_time_s;
  out["ports"] = ports_of(outcome);
  out["packets"] = total.packets;
  out["data_packets"] = counters.data_sent;
  out["acks"] = counters.acks_sent;
  out["probes"] = counters.probes_sent;
  out["parities"] = counters.parities_sent;
  out["recovered"] = counters.data_recovered;
  out["path_loads"] = outcome.path_loads;
  out["out_of_order"] = total.out_of_order;
  out["path_silences"] = counters.path_silences;
  out["window_cuts"] = counters.window_cuts;
  out["cuts_alone"] = counters.cuts_alone;
  out["window_least"] = counters.window_least;
  out["files_distrusted"] = counters.files_distrusted;
  out["duplicates"] = counters.duplicates_received;
  out["window_packets"] = outcome.window_packets;
  out["grain_packets"] = outcome.grain_packets;
  out["memory_bytes"] = total.memory_bytes;
  if (!outcome.crossings.empty()) {
    nb::dict crossings;
    for (const auto& [level, ratio] : outcome.crossings) crossings[level.c_str()] = ratio;
    out["crossings"] = crossings;
  }
  if (!total.tcp.exchange_waits.empty()) out["tcp"] = dict_of(total.tcp);
  if (outcome.shares) add_shares(out, *outcome.shares);
  return out;
}

nb::dict dict_of(const sim::FlowResult& result, std::uint32_t exchanges) {
  nb::list ports;
  for (const sim::FlowPortLoad& load : result.ports) {
    nb::dict port;
    port["name"] = load.name;
    port["bytes"] = load.bytes * exchanges;
    port["busy_s"] = load.busy * result.seconds * exchanges;
    ports.append(port);
  }
  nb::dict out;
  out["time_s"] = result.seconds;
  out["bottleneck"] = result.bottleneck;
  out["rounds"] = result.together ? "together" : "free";
  out["flows"] = result.flows * exchanges;
  out["events"] = result.fillings * exchanges;
  out["ports"] = ports;
  out["rank_time_s"] = result.rank_seconds;
  return out;
}

// Runs without the interpreter's lock. An exception in Python's `progress`, and a signal, end the
// run and are raised when it has ended.
template <class T>
T run_watched(const nb::object& progress,
              const std::function<base::Result<T>(const std::function<bool(double)>&)>& run) {
  std::exception_ptr raised;
  const auto tell = [&](double share) {
    const nb::gil_scoped_acquire gil;
    try {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      if (!progress.is_none()) progress(share);
    } catch (...) {
      raised = std::current_exception();
      return false;
    }
    return true;
  };
  auto result = [&] {
    const nb::gil_scoped_release release;
    return run(tell);
  }();
  if (raised) std::rethrow_exception(raised);
  return value_or_raise(std::move(result));
}

nb::dict simulate(const Cluster& cluster, const nb::dict& given, const nb::object& progress,
                  const Cluster* told) {
  const auto options = value_or_raise(scenario::read_options(table_of(given)));
  const auto outcome = run_watched<Outcome>(
      progress, [&](const auto& tell) { return scenario::simulate(cluster, options, tell, told); });
  nb::dict out = dict_of(outcome);
  if (options.trace) {
    out["trace"] = nb::bytes(static_cast<const void*>(outcome.trace.data()),
                             outcome.trace.size() * sizeof(sim::TraceRecord));
  }
  return out;
}

nb::dict simulate_flows(const Cluster& cluster, const nb::dict& given, const nb::object& progress) {
  const auto options = value_or_raise(scenario::read_flow_options(table_of(given)));
  const auto result = run_watched<sim::FlowResult>(
      progress, [&](const auto& tell) { return scenario::simulate_flows(cluster, options, tell); });
  return dict_of(result, options.exchanges);
}

}  // namespace

void bind_simulate(nb::module_& m) {
  m.def("simulate", simulate, "cluster"_a, "options"_a, "progress"_a.none() = nb::none(),
        "told"_a.none() = nb::none(),
        nb::sig("def simulate(cluster: Cluster, options: dict[str, typing.Any],"
                " progress: collections.abc.Callable[[float], object] | None = None,"
                " told: Cluster | None = None) -> dict[str, typing.Any]"),
        "Simulates exchanges packet by packet. `options` are those of docs/simulator.md; "
        "`progress(share)` is called now and then. `told` is what the job's own cluster file says, "
        "where that is not the network.");
  m.def("simulate_flows", simulate_flows, "cluster"_a, "options"_a,
        "progress"_a.none() = nb::none(),
        nb::sig("def simulate_flows(cluster: Cluster, options: dict[str, "
                "typing.Any], progress: collections.abc.Callable[[float], object] | None = None) "
                "-> dict[str, typing.Any]"),
        "One exchange among all hosts as max-min fair flows. `progress` is called with the part "
        "done, 0 to 1.");
}

}  // namespace alm::bindings
