#include "harness/simulation.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "harness/bulk_flow.h"
#include "harness/messages.h"
#include "harness/neighbours.h"
#include "harness/ranks.h"
#include "harness/striped_ranks.h"
#include "harness/tcp_ranks.h"

namespace alm::harness {
namespace {

using sim::Outcome;

constexpr std::size_t kBytesPerPacketInFlight = 160;  // sim::Packet, cargo, control, its event
constexpr std::uint32_t kRanksMax = 65536;            // transport::Engine

base::Status check(const SimRequest& request) {
  if (request.cluster == nullptr) return base::bad_input("no cluster to simulate");
  const std::size_t ranks = request.hosts.size();
  if (ranks < 2) {
    return base::bad_input(fmt::format("an exchange needs two hosts or more, not {}", ranks));
  }
  if (ranks > kRanksMax) {
    return base::bad_input(fmt::format("{} hosts; packet level reaches {}", ranks, kRanksMax));
  }
  for (const base::HostId host : request.hosts) {
    if (host.value >= request.cluster->host_count()) {
      return base::bad_input(
          fmt::format("host {} of a cluster of {}", host.value, request.cluster->host_count()));
    }
  }
  if (request.exchanges == 0) return base::bad_input("0 exchanges; expected one or more");
  const std::size_t need =
      request.tcp ? TcpRanks::memory_estimate(ranks) : memory_estimate(*request.cluster, ranks);
  if (need > request.memory_max) {
    constexpr double kMib = 1 << 20;
    return base::bad_input(fmt::format(
        "{} hosts need about {:.0f} MiB at packet level, {:.0f} MiB are allowed; take fewer hosts "
        "or the flow level",
        ranks, static_cast<double>(need) / kMib, static_cast<double>(request.memory_max) / kMib));
  }
  return {};
}

base::Error explain(Outcome outcome, const sim::Simulator& simulator, const Program& ranks,
                    double progress, const topology::Cluster& cluster) {
  constexpr double kMicro = 1e6;
  const double now_us = static_cast<double>(simulator.now()) / kMicro;
  switch (outcome) {
    case Outcome::kDeadlock: {
      std::string cycle;
      for (const std::uint32_t port : simulator.deadlock()) {
        cycle += "[" + port_name(cluster, port) + "] waits for ";
      }
      return {
          base::ErrorCode::kTimeout,
          fmt::format("deadlock at {:.3f} us: {}[{}]; back-pressure needs routes without cycles",
                      now_us, cycle, port_name(cluster, simulator.deadlock().front()))};
    }
    case Outcome::kStopped:
      return {base::ErrorCode::kUnsupported, fmt::format("stopped at {:.3f} us", now_us)};
    case Outcome::kTimeLimit:
    case Outcome::kEventLimit:
      return {
          base::ErrorCode::kTimeout,
          fmt::format("not complete after {:.3f} us and {} events, {:.1f} % of the data has come",
                      now_us, simulator.events(), 100 * progress)};
    case Outcome::kIdle:
    case Outcome::kDone:
      break;
  }
  if (const auto failure = ranks.failure()) {
    constexpr double kNanosPerSecond = 1e9;
    return {base::ErrorCode::kPeerLost,
            fmt::format("rank {} has not heard of rank {} for {:.1f} s", failure->rank,
                        failure->lost.peer,
                        static_cast<double>(failure->lost.silent) / kNanosPerSecond)};
  }
  return {base::ErrorCode::kTimeout, fmt::format("nothing left to happen at {:.3f} us", now_us)};
}

// What is not the ranks' own is that of the whole simulation.
SimResult result_of(const Program& ranks, const sim::Simulator& simulator) {
  SimResult result;
  ranks.fill(result);
  result.dropped = simulator.dropped();
  result.packet_hops = simulator.packet_hops();
  result.events = simulator.events();
  for (std::uint32_t port = 0; port < simulator.ports(); ++port) {
    result.ports.push_back(simulator.stats(port));
    if (result.ports[port].busy > result.ports[result.bottleneck].busy) result.bottleneck = port;
  }
  result.memory_bytes = simulator.bytes() + ranks.bytes();
  return result;
}

}  // namespace

std::size_t memory_estimate(const topology::Cluster& cluster, std::size_t ranks) {
  const std::size_t table = cluster.switches.size() * cluster.hosts.size() * 4;
  return ranks * ranks * (transport::Engine::bytes_per_peer() + 2 * sizeof(transport::PeerId)) +
         2 * table + cluster.links.size() * 1024 + ranks * 64 * kBytesPerPacketInFlight;
}

std::string port_name(const topology::Cluster& cluster, std::uint32_t port) {
  const topology::Link& link = cluster.links[port / 2];
  const bool up = port % 2 == 0;
  return cluster.node_name(up ? link.from : link.to) + " -> " +
         cluster.node_name(up ? link.to : link.from);
}

base::Result<std::uint32_t> find_port(const topology::Cluster& cluster, std::string_view from,
                                      std::string_view to) {
  for (std::uint32_t link = 0; link < cluster.links.size(); ++link) {
    const std::string& low = cluster.node_name(cluster.links[link].from);
    const std::string& high = cluster.node_name(cluster.links[link].to);
    if (low == from && high == to) return routing::up_port(link);
    if (low == to && high == from) return routing::down_port(link);
  }
  return base::bad_input(
      fmt::format("no link joins `{}` and `{}` in cluster `{}`", from, to, cluster.name));
}

base::Result<SimResult> simulate(const SimRequest& asked) {
  auto result = simulate_shared({asked}, {});
  if (!result) return result.error();
  return std::move(result.value().jobs.front());
}

base::Result<SharedResult> simulate_shared(const std::vector<SimRequest>& asked,
                                           const std::vector<BulkFlow>& flows) {
  std::vector<SimRequest> jobs = asked;
  const topology::Cluster* cluster = jobs.front().cluster;
  std::vector<std::unique_ptr<Program>> ranks;
  for (SimRequest& request : jobs) {
    request.cluster = cluster;
    if (request.hosts.empty() && cluster != nullptr) {
      for (std::uint32_t i = 0; i < cluster->host_count(); ++i) request.hosts.push_back({i});
    }
    if (auto status = check(request); !status) return status.error();
    if (request.together && (jobs.size() > 1 || !flows.empty())) {
      return base::bad_input("steps are simulated alone: without other jobs and background");
    }
    const bool messages = request.messages || request.striped || request.tcp;
    if (messages && (jobs.size() > 1 || !flows.empty())) {
      return base::bad_input("messages are simulated alone: without other jobs and background");
    }
    auto made = request.tcp        ? TcpRanks::make(request)
                : request.striped  ? StripedRanks::make(request)
                : request.messages ? MessageRanks::make(request)
                                   : Ranks::make(request, jobs.size() > 1);
    if (!made) return made.error();
    ranks.push_back(std::move(made).value());
  }
  sim::Options network = jobs.front().network;
  const auto progress = [&ranks] {
    double least = 1;
    for (const auto& job : ranks) least = std::min(least, job->progress());
    return least;
  };
  if (jobs.front().progress) {
    network.progress = [&] { return jobs.front().progress(progress()); };
  }
  auto built = sim::Simulator::make(*cluster, network);
  if (!built) return built.error();
  sim::Simulator& simulator = *built.value();
  BulkFlows bulk(flows, cluster->host_count(), network.frame_bytes, network.rule);
  const bool alone = ranks.size() == 1 && flows.empty();
  Neighbours neighbours(ranks, flows.empty() ? nullptr : &bulk);
  const Outcome outcome =
      simulator.run(alone ? static_cast<sim::Program&>(*ranks.front()) : neighbours);
  for (const auto& job : ranks) {
    if (outcome == Outcome::kDone && !job->failure()) continue;
    return explain(outcome, simulator, *job, progress(), *cluster);
  }
  SharedResult out;
  for (const auto& job : ranks) out.jobs.push_back(result_of(*job, simulator));
  out.end = simulator.now();
  out.flows = bulk.results(simulator.now());
  return out;
}

}  // namespace alm::harness
