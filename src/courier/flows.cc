#include "courier/flows.h"

#include <algorithm>

namespace alm::courier {
namespace {

constexpr std::uint32_t kUsualMtuBytes = 1500;

base::Nanos far_round_trip(const job::Job& job, const meeting::Members& members) {
  if (members.far_round_trip > 0 || !job.cluster) return members.far_round_trip;
  const double latency_s = topology::latency_seconds(*job.cluster, members.hosts);
  return static_cast<base::Nanos>(2 * latency_s * base::kSecond);
}

}  // namespace

execute::PhaseConfiguration site_phases(const job::Job& job, const meeting::Members& members) {
  if (!job.cluster) return execute::PhaseConfiguration(members.far_round_trip);
  return {*job.cluster,
          members.hosts,
          members.sites,
          {job.options.window_packets, job.options.grain_packets}};
}

// Where switches drop what they cannot hold, messages are cut into a few packets, and what comes
// clocks what is sent, as it does over UDP. Equal on all ranks.
messages::MessageFlow message_flow(const job::Job& job, const meeting::Members& members) {
  const auto* cluster = job.cluster_or_null();
  if (!members.tuning || cluster == nullptr) return carrier::PointToPoint::kFew;
  const auto drops = [](const topology::Switch& one) {
    return one.flow_control == topology::FlowControl::kDrop;
  };
  if (std::none_of(cluster->switches.begin(), cluster->switches.end(), drops)) {
    return carrier::PointToPoint::kFew;
  }
  transport::Config of_host;
  execute::configure(of_host, &*members.tuning, {.window_packets = job.options.window_packets});
  const std::uint32_t sharers = members.placement.most();
  const std::uint32_t window = std::max(1u, of_host.window_packets / sharers);
  auto flow = messages::MessageFlow::of_packets(window, members.tuning->mtu_bytes,
                                                carrier::PointToPoint::kFew);
  flow.wait_for_link(members.tuning->host_rate_mbit_s, sharers);
  return flow;
}

// What is on its way for a latency must not use up a window that is made for a site.
messages::MessageFlow far_message_flow(const job::Job& job, const meeting::Members& members,
                                       const plan::Phase& phase) {
  transport::Config far;
  const std::uint32_t sharers = members.placement.most();
  if (members.tuning && sharers == 1) {
    site_phases(job, members).configure(far, phase);
    // Half of what the transport allows, which paces: about a round trip of this rank's part.
    far.window_packets = std::max(1u, far.window_packets / 2);
  } else {
    execute::configure_far(far, far_round_trip(job, members));
  }
  const std::uint32_t mtu_bytes = members.tuning ? members.tuning->mtu_bytes : kUsualMtuBytes;
  auto flow = messages::MessageFlow::of_packets(std::max(1u, far.window_packets / sharers),
                                                mtu_bytes, carrier::PointToPoint::kFew);
  if (members.tuning) flow.wait_for_link(members.tuning->host_rate_mbit_s, sharers);
  flow.patience = std::max(flow.patience, far.round_trip);
  return flow;
}

}  // namespace alm::courier
