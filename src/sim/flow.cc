#include "sim/flow.h"

#include <fmt/core.h>

#include <algorithm>

#include "sim/flow_free.h"
#include "sim/flow_resources.h"
#include "topology/graph.h"

namespace alm::sim {
namespace {

constexpr std::uint32_t kAnswersPerRun = 200;  // how often progress is told

// Rounds that all ranks enter together; adds up what each port carries.
class Together {
 public:
  Together(const topology::Cluster& cluster, const routing::Routes& routes,
           const FlowRequest& request, FlowResult& result)
      : cluster_(cluster),
        routes_(routes),
        request_(request),
        result_(result),
        resources_(cluster),
        bytes_(resources_.ports(), 0),
        sum_(resources_.ports(), 0) {}

  bool run() {
    const std::uint32_t step = std::max(1u, request_.rounds / kAnswersPerRun);
    for (std::uint32_t round = 0; round < request_.rounds; ++round) {
      if (request_.rounds > 1) {
        add_round(round);
      } else if (!add_everything()) {
        return false;
      }
      end_round();
      if (round % step == 0 && !tell(round, request_.rounds)) return false;
    }
    result_.rank_seconds.assign(request_.participants.size(), result_.seconds);
    return true;
  }

  const FlowResources& resources() const { return resources_; }
  std::span<const double> port_bytes() const { return sum_; }

 private:
  // Hosts below one switch whose packets for a destination take the same way on from there.
  struct Source {
    std::vector<std::uint32_t> hosts;
  };

  bool tell(std::uint64_t done, std::uint64_t of) const {
    return !request_.progress ||
           request_.progress(static_cast<double>(done) / static_cast<double>(of));
  }

  // The route is the first host's; what it loads stands for `count` flows, their own links apart.
  void add_flows(std::uint32_t from, std::uint32_t to, double count) {
    const double bytes = count * static_cast<double>(request_.wire_bytes);
    std::uint32_t flow = routes_.enter(from, to, routing::label(request_.routing, from, to, 0));
    path_.assign(1, routes_.host_port(from));
    for (std::uint32_t node = entered(path_.back()); node != to; node = entered(path_.back())) {
      path_.push_back(routes_.next(node - cluster_.host_count(), to, flow));
      bytes_[path_.back()] += bytes;
    }
    latency_ = std::max(latency_, resources_.latency_s(path_, request_.packet_wire_bytes));
  }

  std::uint32_t entered(std::uint32_t port) const {
    const topology::Link& link = cluster_.links[port / 2];
    return (port == routing::up_port(port / 2) ? link.to : link.from).value;
  }

  void add_round(std::uint32_t round) {
    for (std::uint32_t rank = 0; rank < request_.participants.size(); ++rank) {
      const std::uint32_t from = request_.participants[rank].value;
      for (const base::Rank peer : request_.sends({rank}, round)) {
        bytes_[routes_.host_port(from)] += static_cast<double>(request_.wire_bytes);
        add_flows(from, request_.participants[peer.value].value, 1);
        ++result_.flows;
      }
    }
  }

  bool add_everything() {
    const auto& hosts = request_.participants;
    const std::size_t step = std::max<std::size_t>(1, hosts.size() / kAnswersPerRun);
    const auto peers = static_cast<double>(hosts.size() - 1);
    result_.flows = hosts.size() * (hosts.size() - 1);
    const std::vector<Source> senders = sources();
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      const std::uint32_t to = hosts[i].value;
      bytes_[routes_.host_port(to)] += peers * static_cast<double>(request_.wire_bytes);
      for (const Source& source : senders) {
        const bool inside =
            entered(routes_.host_port(source.hosts.front())) == entered(routes_.host_port(to)) &&
            std::binary_search(source.hosts.begin(), source.hosts.end(), to);
        const std::size_t count = source.hosts.size() - (inside ? 1 : 0);
        if (count == 0) continue;
        // Any host of the group but the receiver itself stands for all of it.
        const std::uint32_t from =
            source.hosts.front() == to ? source.hosts.back() : source.hosts.front();
        add_flows(from, to, static_cast<double>(count));
      }
      if (i % step == 0 && !tell(i, hosts.size())) return false;
    }
    return true;
  }

  // With destination tables the hosts below one switch, over links of one latency; else each host.
  std::vector<Source> sources() const {
    const bool by_destination =
        request_.routing == routing::Rule::kDModK || topology::is_tree(cluster_);
    std::vector<std::pair<std::pair<std::uint32_t, double>, std::uint32_t>> hosts;
    for (const base::HostId host : request_.participants) {
      const std::uint32_t port = routes_.host_port(host.value);
      hosts.push_back({{entered(port), cluster_.links[port / 2].latency_us}, host.value});
    }
    std::sort(hosts.begin(), hosts.end());
    std::vector<Source> out;
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      if (i == 0 || !by_destination || hosts[i].first != hosts[i - 1].first) out.emplace_back();
      out.back().hosts.push_back(hosts[i].second);
    }
    return out;
  }

  void end_round() {
    const std::vector<double> loads = resources_.loads(bytes_);
    double longest = 0;
    for (std::size_t i = 0; i < loads.size(); ++i) {
      longest = std::max(longest, loads[i] / resources_.capacity()[i]);
    }
    for (std::size_t i = 0; i < bytes_.size(); ++i) sum_[i] += bytes_[i];
    std::fill(bytes_.begin(), bytes_.end(), 0);
    if (longest > 0) result_.seconds += longest + latency_ + request_.overhead_s;
    latency_ = 0;
    ++result_.fillings;
  }

  const topology::Cluster& cluster_;
  const routing::Routes& routes_;
  const FlowRequest& request_;
  FlowResult& result_;
  FlowResources resources_;
  std::vector<double> bytes_, sum_;  // by port: this round, all rounds
  std::vector<std::uint32_t> path_;
  double latency_ = 0;  // of the longest path in the round
};

void describe_load(const FlowResources& resources, std::span<const double> port_bytes,
                   FlowResult& result) {
  for (std::uint32_t i = 0; i < port_bytes.size(); ++i) {
    if (port_bytes[i] <= 0) continue;
    const double busy_s = port_bytes[i] / resources.capacity()[i];
    result.ports.push_back({i, resources.name(i), port_bytes[i], busy_s / result.seconds});
  }
  const std::vector<double> loads = resources.loads(port_bytes);
  double longest = 0;
  for (std::uint32_t i = 0; i < loads.size(); ++i) {
    const double seconds = loads[i] / resources.capacity()[i];
    if (seconds <= longest) continue;
    longest = seconds;
    result.bottleneck = resources.name(i);
  }
}

base::Status check(const topology::Cluster& cluster, const FlowRequest& request) {
  for (const topology::Link& link : cluster.links) {
    if (link.rate_up_mbit_s > 0 && link.rate_down_mbit_s > 0) continue;
    return base::bad_input(fmt::format("link {} - {} has a rate of zero; expected Mbit/s above 0",
                                       cluster.node_name(link.from), cluster.node_name(link.to)));
  }
  if (request.participants.size() < 2) {
    return base::bad_input(fmt::format("an exchange among {} hosts; expected at least 2",
                                       request.participants.size()));
  }
  if (request.wire_bytes == 0) {
    return base::bad_input("an exchange of 0 bytes per pair; expected at least 1");
  }
  return {};
}

}  // namespace

base::Result<FlowResult> simulate_flows(const topology::Cluster& cluster,
                                        const FlowRequest& request) {
  if (const base::Status status = check(cluster, request); !status) return status.error();
  const auto made = routing::Routes::make(cluster, request.routing);
  if (!made) return made.error();
  const routing::Routes& routes = made.value();
  const auto hosts = static_cast<std::uint64_t>(request.participants.size());
  FlowResult result;
  const bool few = hosts * (hosts - 1) <= kFreeFlowsMax;
  result.together = request.mode == FlowRounds::kTogether ||
                    (request.mode == FlowRounds::kChoose && (request.rounds == 1 || !few));
  const base::Error stopped{base::ErrorCode::kUnsupported, "the simulation was stopped"};
  if (result.together) {
    Together exchange(cluster, routes, request, result);
    if (!exchange.run()) return stopped;
    describe_load(exchange.resources(), exchange.port_bytes(), result);
    return result;
  }
  FreeRounds exchange(cluster, routes, request, result);
  if (!exchange.run()) return stopped;
  describe_load(exchange.resources(), exchange.port_bytes(), result);
  return result;
}

}  // namespace alm::sim
