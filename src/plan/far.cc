#include "plan/far.h"

#include <algorithm>
#include <limits>

namespace alm::plan {
namespace {

constexpr double kMicros = 1e6;
constexpr std::uint64_t kManyPackets = 64;  // of a block, so that the last one does not matter
// Ranks that are late may together fill 1 / kBurstPart of the queue before a wide-area link.
constexpr std::uint32_t kBurstPart = 4;
constexpr std::uint32_t kBurstMax = 32;
constexpr std::uint32_t kWindowLeast = 64;
// A host's own site may fill 1 / kHostPart of the queue before it: other sites, which may be out of
// step, send to it at the same time.
constexpr std::uint32_t kHostPart = 4;
constexpr double kAtHosts = 2;  // a pace of less than so many frames of a host
// Ends of blocks count for so many times as much as the room in the queue asks for.
constexpr double kEndSpare = 4.0 / 3;

// The shortest queue between two switches.
std::uint32_t uplink_queue(const topology::Cluster& cluster) {
  std::uint32_t least = std::numeric_limits<std::uint32_t>::max();
  for (const topology::Link& link : cluster.links) {
    if (cluster.is_host(link.from) || cluster.is_host(link.to)) continue;
    least = std::min({least, link.queue_up_packets, link.queue_down_packets});
  }
  return least;
}

// The shortest queue before a host.
std::uint32_t host_queue(const topology::Cluster& cluster, std::span<const base::HostId> hosts) {
  std::vector<bool> takes_part(cluster.host_count());
  for (const base::HostId host : hosts) takes_part[host.value] = true;
  std::uint32_t least = std::numeric_limits<std::uint32_t>::max();
  for (const topology::Link& link : cluster.links) {
    if (cluster.is_host(link.from) && takes_part[link.from.value]) {
      least = std::min(least, link.queue_down_packets);
    }
    if (cluster.is_host(link.to) && takes_part[link.to.value]) {
      least = std::min(least, link.queue_up_packets);
    }
  }
  return least;
}

}  // namespace

FarTuner::FarTuner(const topology::Cluster& cluster, std::span<const base::HostId> hosts,
                   std::span<const std::uint32_t> site_of)
    : cluster_(cluster) {
  const std::uint64_t bytes = kManyPackets * topology::payload_bytes(cluster.framing);
  seconds_of_many_ = topology::alltoall_limit_seconds(cluster, hosts, bytes);
  host_frame_us_ = plan::tune(cluster, hosts).packet_time_us;
  round_trip_us_ = 2 * topology::latency_seconds(cluster, hosts) * kMicros;
  std::vector<std::uint32_t> at_site(hosts.size());
  for (const std::uint32_t site : site_of) ++at_site[site];
  const std::uint32_t senders = *std::max_element(at_site.begin(), at_site.end());
  const std::uint32_t queue = uplink_queue(cluster);
  host_room_ = host_queue(cluster, hosts) / kHostPart;
  burst_packets_ = std::clamp(queue / (kBurstPart * senders), 1u, kBurstMax);
  // Queues count packets. A burst of all ranks stays before a link that is asked for nearly all it
  // carries. While that leaves, no more ends of blocks may come than the queue has room for.
  const double backlog = static_cast<double>((1 + burst_packets_) * senders) / queue;
  end_least_ = std::min(1.0, kEndSpare * backlog);
}

FarLoad FarTuner::equal_load(const Phase& phase) const {
  const std::uint64_t bytes = kManyPackets * topology::payload_bytes(cluster_.framing);
  FarLoad load{seconds_of_many_, 0};
  Move direct;
  for (std::size_t i = 0; i < phase.rounds.send.size(); ++i) {
    load.wire_bytes +=
        phase.sends(i, direct).size() * topology::framed_bytes(cluster_.framing, bytes);
  }
  return load;
}

FarTuning FarTuner::tune(const Phase& phase, const FarLoad& load) const {
  FarTuning out;
  out.round_trip_us = round_trip_us_;
  out.burst_packets = burst_packets_;
  out.end_least = end_least_;
  if (load.wire_bytes == 0) return out;
  const auto full = cluster_.framing.mtu_bytes + cluster_.framing.link_header_bytes;
  const double frames = static_cast<double>(load.wire_bytes) / full;
  out.pace_us = std::max(host_frame_us_, load.seconds * kMicros * kFarSpare / frames);
  // Twice what is sent until acknowledgements come, which ride on what the peers send in turn.
  const double answered = out.round_trip_us / out.pace_us +
                          2 * static_cast<double>(phase.rounds.send.size() + out.burst_packets);
  out.window_packets = std::max(kWindowLeast, static_cast<std::uint32_t>(2 * answered));
  // Where the hosts' own links are the limit, what is too much waits at those.
  if (out.pace_us < kAtHosts * host_frame_us_) {
    const double room = out.round_trip_us / out.pace_us + host_room_;
    out.window_packets =
        std::min(out.window_packets, static_cast<std::uint32_t>(std::max(answered, room)));
  }
  return out;
}

bool gathers(const Phase& phase) {
  constexpr std::size_t kTimes = 3;
  if (phase.rounds.send.empty()) return false;
  Move direct;
  std::size_t most = 0, least = phase.sends(0, direct).size();
  for (std::size_t i = 0; i < phase.rounds.send.size(); ++i) {
    const std::size_t blocks = phase.sends(i, direct).size();
    most = std::max(most, blocks);
    least = std::min(least, blocks);
  }
  return most > kTimes * least;
}

Tuning tune_near(const topology::Cluster& cluster, std::span<const base::HostId> hosts,
                 const Phase& phase) {
  std::vector<base::HostId> members;
  for (const base::Rank rank : phase.members) members.push_back(hosts[rank.value]);
  Tuning out = tune(cluster, members);
  if (gathers(phase)) {
    const auto senders = static_cast<std::uint32_t>(members.size() - 1);
    out.window_packets = out.burst_packets =
        std::max(1u, out.held_packets() / (kHostPart * senders));
  }
  return out;
}

}  // namespace alm::plan
