#include <fmt/core.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>

#include "bindings/bindings.h"
#include "scenario/job.h"
#include "scenario/options.h"
#include "scenario/paths.h"
#include "scenario/outcome.h"
#include "scenario/sites.h"
#include "routing/routes.h"
#include "topology/cluster.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace alm::bindings {
namespace {

using topology::Cluster;

class Recorder final : public sim::TraceSink {
 public:
  void on(const sim::TraceRecord& record) override { records_.push_back(record); }
  nb::bytes take() const {
    return nb::bytes(static_cast<const void*>(records_.data()),
                     records_.size() * sizeof(sim::TraceRecord));
  }

 private:
  std::vector<sim::TraceRecord> records_;
};

// Refused before it begins: a trace has a record for each packet at each port of its route.
void check_trace(const SimulateOptions& options, const Cluster& cluster,
                 const transport::Config& config) {
  if (options.hosts.size() < 2) return;
  const auto routes =
      value_or_raise(routing::Routes::make(cluster, options.network.rule, options.network.routes));
  std::size_t longest = 0;
  for (const base::HostId host : options.hosts) {
    if (host == options.hosts.front()) continue;
    longest = std::max(longest, routes.path(options.hosts.front().value, host.value, 0).size());
  }
  const std::uint32_t ranks = options.ranks();
  double packets = 0;
  for (std::uint32_t from = 0; from < ranks; ++from) {
    for (std::uint32_t to = 0; to < ranks; ++to) {
      if (from == to) continue;
      const auto bytes = static_cast<double>(options.bytes(from, to));
      packets += std::ceil(bytes / config.datagram_bytes) * options.exchanges;
    }
  }
  const double need = packets * static_cast<double>(longest * sizeof(sim::TraceRecord));
  if (need <= static_cast<double>(options.memory_max)) return;
  constexpr double kMib = 1 << 20;
  throw RaisedError{base::bad_input(fmt::format(
      "a trace of this exchange takes about {:.0f} MiB, {:.0f} are allowed; trace fewer "
      "hosts or bytes",
      need / kMib, static_cast<double>(options.memory_max) / kMib))};
}

nb::dict simulate(std::string_view cluster_text, const nb::dict& raw, const nb::object& progress) {
  Cluster cluster = value_or_raise(topology::parse_cluster(cluster_text, "cluster"));
  SimulateOptions options = read_simulate_options(cluster, raw);
  if (options.datagram_bytes != 0)
    cluster.framing.mtu_bytes = options.datagram_bytes + topology::kIpUdpBytes;
  check_paths(options, cluster);
  std::vector<Job> jobs;
  for (std::uint32_t job = 0; job < options.jobs; ++job) {
    jobs.emplace_back(of_job(options, job), cluster);
  }
  const Job& first = jobs.front();
  std::vector<harness::SimRequest> requests;
  sim::Random random(sim::mix(options.seed) + 1);
  for (const Job& job : jobs) {
    harness::SimRequest& request = requests.emplace_back(job.request(cluster));
    request.jitter.seed += requests.size() - 1;
    if (requests.size() == 1) continue;
    const double apart = first.limit * static_cast<double>(sim::kPicosPerSecond);
    request.starts_at =
        static_cast<sim::Picos>(random.below(static_cast<std::uint64_t>(apart) + 1));
  }
  Recorder recorder;
  if (options.trace) {
    check_trace(options, cluster, first.config);
    requests.front().network.trace = &recorder;
  }
  std::exception_ptr raised;
  requests.front().progress = [&](double share) {
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
  auto simulated = [&] {
    const nb::gil_scoped_release release;
    return harness::simulate_shared(requests, options.background);
  }();
  if (raised) std::rethrow_exception(raised);
  harness::SharedResult result = value_or_raise(std::move(simulated));
  harness::SimResult sum = result.jobs.front();
  for (std::size_t job = 1; job < result.jobs.size(); ++job) {
    sum.counters += result.jobs[job].counters;
    sum.packets += result.jobs[job].packets;
  }
  nb::dict out = dict_of(sum, first, cluster);
  out["simulated_s"] = seconds(result.end);
  const auto plan_of = [&first](std::uint32_t rank) { return first.plan(rank); };
  if (auto crossings = crossings_of(first.options, first.leaf_of, first.placement, plan_of);
      crossings.size() > 0) {
    out["crossings"] = crossings;
  }
  if (options.shared()) add_shares(out, result, options, cluster, first.combines);
  if (options.trace) out["trace"] = recorder.take();
  return out;
}

}  // namespace

std::vector<std::vector<std::uint32_t>> leaves_of(const topology::Cluster& cluster,
                                                  const std::vector<base::HostId>& hosts) {
  std::vector<std::vector<std::uint32_t>> out;
  for (const auto& of_host : topology::schedule_hierarchy(cluster).level) {
    auto& group = out.emplace_back();
    for (const base::HostId host : hosts) group.push_back(of_host[host.value]);
  }
  return out;
}

void bind_simulate(nb::module_& m) {
  m.def("simulate", simulate, "cluster_text"_a, "options"_a, "progress"_a.none() = nb::none(),
        nb::sig("def simulate(cluster_text: str, options: dict[str, typing.Any],"
                " progress: collections.abc.Callable[[float], object] | None = None) -> dict[str, "
                "typing.Any]"),
        "Simulates exchanges packet by packet. `options` are those of docs/simulator.md; "
        "`progress(share)` is called now and then.");
}

}  // namespace alm::bindings
