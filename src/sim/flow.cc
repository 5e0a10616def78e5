#include "sim/flow.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "sim/flow_free.h"
#include "sim/flow_resources.h"

namespace alm::sim {
namespace {

constexpr std::uint32_t kAnswersPerRun = 200;  // how often progress is told

// Rounds that all ranks enter together; adds up what each port carries.
class Together {
 public:
  Together(const topology::Cluster& cluster, const FlowRequest& request, FlowResult& result)
      : cluster_(cluster),
        request_(request),
        result_(result),
        resources_(cluster),
        bytes_(resources_.ports(), 0),
        sum_(resources_.ports(), 0),
        links_(cluster.hosts.size() + cluster.switches.size(), 0) {
    for (const topology::Link& link : cluster.links) {
      ++links_[link.from.value];
      ++links_[link.to.value];
    }
  }

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
  bool tell(std::uint64_t done, std::uint64_t of) const {
    return !request_.progress ||
           request_.progress(static_cast<double>(done) / static_cast<double>(of));
  }

  void add_flow(base::HostId from, base::HostId to, double count, bool with_first) {
    path_.clear();
    request_.path(from, to, path_);
    const double bytes = count * static_cast<double>(request_.wire_bytes);
    for (std::size_t i = with_first ? 0 : 1; i < path_.size(); ++i) {
      bytes_[FlowResources::id(path_[i])] += bytes;
    }
    latency_ = std::max(latency_, resources_.latency_s(path_, request_.packet_wire_bytes));
  }

  void add_round(std::uint32_t round) {
    for (std::uint32_t rank = 0; rank < request_.participants.size(); ++rank) {
      for (const base::Rank peer : request_.sends({rank}, round)) {
        add_flow(request_.participants[rank], request_.participants[peer.value], 1, true);
        ++result_.flows;
      }
    }
  }

  bool add_everything() {
    const auto& hosts = request_.participants;
    const std::size_t step = std::max<std::size_t>(1, hosts.size() / kAnswersPerRun);
    result_.flows = hosts.size() * (hosts.size() - 1);
    const auto senders = sources();
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      for (const Source& source : senders) {
        const bool inside = source.entrance == entrance_[i];
        const double count = source.hosts - (inside ? 1 : 0);
        if (count <= 0) continue;
        // Any host of the group but the receiver itself stands for all of it.
        const base::HostId from = source.first == hosts[i] ? source.second : source.first;
        add_flow(from, hosts[i], count, !source.group);
      }
      if (i % step == 0 && !tell(i, hosts.size())) return false;
    }
    return true;
  }

  struct Source {
    std::uint32_t entrance = 0;
    base::HostId first, second;
    bool group = false;  // the links into the network are counted apart: they are the hosts' own
    double hosts = 0;
  };

  // Hosts that enter the network at the same switch over links alike; else each host for itself.
  std::vector<Source> sources() {
    std::map<std::pair<std::uint32_t, double>, std::uint32_t> known;
    std::vector<Source> out;
    const auto& hosts = request_.participants;
    const double each =
        static_cast<double>(request_.wire_bytes) * static_cast<double>(hosts.size() - 1);
    entrance_.resize(hosts.size());
    for (std::uint32_t i = 0; i < hosts.size(); ++i) {
      path_.clear();
      request_.path(hosts[i], hosts[i == 0 ? 1 : 0], path_);
      const FlowPort first = path_.front();
      const topology::Link& link = cluster_.links[first.link];
      const topology::NodeId at = first.down ? link.from : link.to;
      const bool group =
          request_.path_by_destination && !cluster_.is_host(at) && links_of(hosts[i]) == 1;
      const auto next = static_cast<std::uint32_t>(out.size());
      const auto entry =
          group ? known.try_emplace({at.value, link.latency_us}, next).first->second : next;
      if (entry == next) out.push_back({entry, hosts[i], hosts[i], group, 0});
      Source& source = out[entry];
      if (source.hosts == 1) source.second = hosts[i];
      ++source.hosts;
      entrance_[i] = entry;
      if (group) bytes_[FlowResources::id(first)] += each;
    }
    return out;
  }

  std::uint32_t links_of(base::HostId host) const { return links_[host.value]; }

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
  const FlowRequest& request_;
  FlowResult& result_;
  FlowResources resources_;
  std::vector<double> bytes_, sum_;  // by port: this round, all rounds
  std::vector<FlowPort> path_;
  std::vector<std::uint32_t> entrance_;  // by rank: index into sources()
  std::vector<std::uint32_t> links_;     // by node
  double latency_ = 0;                   // of the longest path in the round
};

void describe_load(const FlowResources& resources, std::span<const double> port_bytes,
                   FlowResult& result) {
  for (std::uint32_t i = 0; i < port_bytes.size(); ++i) {
    if (port_bytes[i] <= 0) continue;
    const double busy_s = port_bytes[i] / resources.capacity()[i];
    result.ports.push_back({FlowResources::port(i), port_bytes[i], busy_s / result.seconds});
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
  std::vector<FlowPort> path;
  for (std::size_t i = 1; i < request.participants.size(); ++i) {
    path.clear();
    request.path(request.participants[0], request.participants[i], path);
    if (!path.empty()) continue;
    const auto name = [&](std::size_t rank) {
      return cluster.hosts[request.participants[rank].value].name;
    };
    return base::bad_input(fmt::format(
        "no way from host {} to host {}; expected links that connect them", name(0), name(i)));
  }
  return {};
}

}  // namespace

base::Result<FlowResult> simulate_flows(const topology::Cluster& cluster,
                                        const FlowRequest& request) {
  if (const base::Status status = check(cluster, request); !status) return status.error();
  const auto hosts = static_cast<std::uint64_t>(request.participants.size());
  FlowResult result;
  const bool few = hosts * (hosts - 1) <= kFreeFlowsMax;
  result.together = request.mode == FlowRounds::kTogether ||
                    (request.mode == FlowRounds::kChoose && (request.rounds == 1 || !few));
  const base::Error stopped{base::ErrorCode::kUnsupported, "the simulation was stopped"};
  if (result.together) {
    Together exchange(cluster, request, result);
    if (!exchange.run()) return stopped;
    describe_load(exchange.resources(), exchange.port_bytes(), result);
    return result;
  }
  FreeRounds exchange(cluster, request, result);
  if (!exchange.run()) return stopped;
  describe_load(exchange.resources(), exchange.port_bytes(), result);
  return result;
}

}  // namespace alm::sim
