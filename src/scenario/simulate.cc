#include "scenario/simulate.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "routing/routes.h"
#include "scenario/job.h"
#include "scenario/paths.h"
#include "sim/random.h"

namespace alm::scenario {
namespace {

class Recorder final : public sim::TraceSink {
 public:
  void on(const sim::TraceRecord& record) override { records.push_back(record); }
  std::vector<sim::TraceRecord> records;
};

// Refused before it begins: a trace has a record for each packet at each port of its route.
base::Status check_trace(const Job& job) {
  const Scenario& scenario = job.scenario;
  if (scenario.hosts.size() < 2) return {};
  const auto routes =
      routing::Routes::make(job.cluster, scenario.network.rule, scenario.network.routes);
  if (!routes) return routes.error();
  std::size_t longest = 0;
  const base::HostId first = scenario.hosts.front();
  for (const base::HostId host : scenario.hosts) {
    if (host == first) continue;
    longest = std::max(longest, routes.value().path(first.value, host.value, 0).size());
  }
  const std::uint32_t ranks = scenario.ranks();
  double packets = 0;
  for (std::uint32_t from = 0; from < ranks; ++from) {
    for (std::uint32_t to = 0; to < ranks; ++to) {
      if (from == to) continue;
      const auto bytes = static_cast<double>(scenario.bytes(from, to));
      packets += std::ceil(bytes / job.config.datagram_bytes) * scenario.asked.exchanges;
    }
  }
  const double need = packets * static_cast<double>(longest * sizeof(sim::TraceRecord));
  const auto allowed = static_cast<double>(scenario.memory_max());
  if (need <= allowed) return {};
  constexpr double kMib = 1 << 20;
  return base::bad_input(fmt::format(
      "a trace of this exchange takes about {:.0f} MiB, {:.0f} are allowed; trace fewer "
      "hosts or bytes",
      need / kMib, allowed / kMib));
}

base::Result<std::vector<Job>> jobs_of(const Scenario& scenario, const topology::Cluster& cluster,
                                       const topology::Cluster& told) {
  std::vector<Job> out;
  out.reserve(scenario.asked.jobs);
  for (std::uint32_t number = 0; number < scenario.asked.jobs; ++number) {
    auto made = Job::make(of_job(scenario, number), cluster, told);
    if (!made) return made.error();
    out.push_back(std::move(made).value());
  }
  return out;
}

// All jobs but the first begin at random, up to the limit of an exchange later.
std::vector<harness::SimRequest> requests_of(const std::vector<Job>& jobs, std::uint64_t seed) {
  std::vector<harness::SimRequest> out;
  sim::Random random(sim::mix(seed) + 1);
  const double apart = jobs.front().limit * static_cast<double>(sim::kPicosPerSecond);
  for (const Job& job : jobs) {
    harness::SimRequest& request = out.emplace_back(job.request());
    request.jitter.seed += out.size() - 1;
    if (out.size() == 1) continue;
    request.starts_at =
        static_cast<sim::Picos>(random.below(static_cast<std::uint64_t>(apart) + 1));
  }
  return out;
}

}  // namespace

base::Result<Outcome> simulate(topology::Cluster cluster, const Options& options,
                               const std::function<bool(double)>& progress,
                               const topology::Cluster* told) {
  const auto scenario = make_scenario(cluster, options);
  if (!scenario) return scenario.error();
  if (options.datagram_bytes != 0) {
    cluster.framing.mtu_bytes = options.datagram_bytes + topology::kIpUdpBytes;
  }
  if (auto checked = check_paths(scenario.value(), cluster); !checked) return checked.error();
  std::optional<topology::Cluster> said;
  if (told != nullptr) {
    said = *told;
    said->framing = cluster.framing;  // the MTU is that of the hosts' interfaces
  }
  const auto jobs = jobs_of(scenario.value(), cluster, said ? *said : cluster);
  if (!jobs) return jobs.error();
  const Job& first = jobs.value().front();
  auto requests = requests_of(jobs.value(), options.seed);
  requests.front().progress = progress;
  Recorder recorder;
  if (options.trace) {
    if (auto checked = check_trace(first); !checked) return checked.error();
    requests.front().network.trace = &recorder;
  }
  const auto results = harness::simulate_shared(requests, scenario.value().background);
  if (!results) return results.error();
  auto out = outcome_of(results.value(), first);
  if (!out) return out;
  if (scenario.value().shared()) {
    auto shares = shares_of(results.value(), scenario.value(), cluster, first.combines);
    if (!shares) return shares.error();
    double sum = 0;
    for (const auto& job : shares.value().jobs) sum += job.time_s;
    out.value().time_s = sum / static_cast<double>(shares.value().jobs.size());
    out.value().shares = std::move(shares).value();
  }
  out.value().trace = std::move(recorder.records);
  return out;
}

}  // namespace alm::scenario
