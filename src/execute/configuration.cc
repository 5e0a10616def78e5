#include "execute/configuration.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "blocks/windows.h"

namespace alm::execute {
namespace {

constexpr std::uint32_t kSoughtWindowFirst = 4;   // links that store frames, leaf and core
constexpr std::uint32_t kSoughtWindowMax = 4096;  // 120 us there and back at 400 Gbit/s
constexpr std::uint32_t kUnknownFarWindow = 512;  // where nothing tells the round trip

// A block may be as far ahead as the window. Over several paths a loss is found by one bitmap alone
// (paths/peer_paths.h).
void set_span(transport::Config& config) {
  if (config.paths > 1) return;
  config.span_packets = std::clamp(config.window_packets, config.span_packets, blocks::kSpanMax);
}

}  // namespace

void configure(transport::Config& config, const plan::Tuning* tuning, const Wishes& wishes) {
  if (tuning != nullptr) {
    config.window_packets = tuning->window_packets;
    config.seeks_from = 0;
    config.refuted_seeks_from = kSoughtWindowFirst;
    config.refuted_window_packets = kSoughtWindowMax;
    config.climbs = true;
    config.train_packets_max = std::max(tuning->grain_packets, kUnknownTrainMax);
    config.single_window_packets = tuning->single_window_packets;
    config.burst_packets = tuning->burst_packets;
    config.grain_packets = tuning->grain_packets;
    config.packet_time = static_cast<base::Nanos>(tuning->packet_time_us * base::kMicrosecond);
    config.knows_rate = true;
    config.latency = static_cast<base::Nanos>(tuning->latency_us * base::kMicrosecond);
    config.limit_time = 0;  // that was of another network
  }
  if (wishes.grain_packets != 0) {
    config.grain_packets = config.train_packets_max = wishes.grain_packets;
  }
  if (wishes.window_packets != 0) {
    // A window that was asked for holds for small exchanges, too.
    config.window_packets = wishes.window_packets;
    config.single_window_packets = config.burst_packets = config.seeks_from = 0;
    config.refuted_window_packets = 0;
  }
  if (tuning != nullptr) set_span(config);
}

void configure_unknown(transport::Config& config, const Wishes& wishes) {
  config.window_packets = kSoughtWindowMax;
  config.seeks_from = wishes.window_packets == 0 ? kSoughtWindowFirst : 0;
  config.climbs = true;
  config.train_packets_max = kUnknownTrainMax;
  configure(config, nullptr, wishes);
  set_span(config);
}

void configure_near(transport::Config& config, const plan::Phase& phase, const plan::Tuning* tuning,
                    const Wishes& wishes) {
  const std::uint32_t fit = config.refuted_window_packets;  // the sockets
  if (tuning != nullptr) configure(config, tuning, wishes);
  config.refuted_window_packets = std::min(config.refuted_window_packets, fit);
  // What others of the site send is no sign that the one who gets most has taken any of it.
  if (plan::gathers(phase)) config.send_rule = transport::SendRule::kUnacked;
}

void configure_far(transport::Config& config, const plan::FarTuning& tuning) {
  const auto nanos = [](double micros) {
    return static_cast<base::Nanos>(std::llround(micros * base::kMicrosecond));
  };
  config.pace = nanos(tuning.pace_us);
  config.pace_burst_packets = tuning.burst_packets;
  config.pace_end_least = tuning.end_least;
  config.round_trip = nanos(tuning.round_trip_us);
  // Latencies that the cluster file leaves out are not known to be 0.
  config.window_packets = tuning.round_trip_us > 0
                              ? tuning.window_packets
                              : std::max(tuning.window_packets, kUnknownFarWindow);
  config.single_window_packets = config.burst_packets = 0;
  config.refuted_window_packets = 0;  // its rates are not this host's
  config.climbs = false;
  config.grain_packets = 1;
  set_span(config);
  // One packet in eight of what is under way may be a second attempt: on a long way there is no
  // time for a few at once.
  constexpr std::uint32_t kResendPart = 8;
  config.retransmit_budget_packets =
      std::max(config.retransmit_budget_packets, config.window_packets / kResendPart);
  config.pace_yields = config.yields;
  config.parities = true;
  config.yields = false;
}

// Some packets for each of many peers; losses tell when it is too much.
void configure_far(transport::Config& config, base::Nanos round_trip) {
  config.round_trip = round_trip;
  config.window_packets = std::max(config.window_packets, kUnknownFarWindow);
  if (config.seeks_from > 0) config.seeks_from = kUnknownFarWindow;
  config.climbs = false;
  config.single_window_packets = config.burst_packets = 0;
  set_span(config);
}

// The limiting link is always busy, and a host sends each of the others one datagram in that time.
void set_limit_time(transport::Config& config, const topology::Cluster& cluster,
                    std::span<const base::HostId> hosts) {
  config.limit_time = 0;
  if (hosts.size() < 2) return;
  const double seconds = topology::alltoall_limit_seconds(cluster, hosts, config.datagram_bytes);
  config.limit_time = std::llround(seconds * base::kSecond / static_cast<double>(hosts.size() - 1));
}

PhaseConfiguration::PhaseConfiguration(const topology::Cluster& cluster,
                                       std::vector<base::HostId> hosts,
                                       std::span<const std::uint32_t> sites, const Wishes& wishes)
    : cluster_(&cluster), hosts_(std::move(hosts)), wishes_(wishes) {
  far_.emplace(cluster, hosts_, sites);
}

void PhaseConfiguration::configure(transport::Config& config, const plan::Phase& phase,
                                   std::optional<plan::FarLoad> load) const {
  if (phase.reach == plan::Reach::kFar) {
    if (cluster_ == nullptr) {
      configure_far(config, far_round_trip_);
    } else {
      configure_far(config, far_->tune(phase, load ? *load : far_->equal_load(phase)));
    }
  } else if (phase.reach == plan::Reach::kNear) {
    if (cluster_ == nullptr) {
      configure_near(config, phase, nullptr, {});
    } else {
      const auto tuning = plan::tune_near(*cluster_, hosts_, phase);
      configure_near(config, phase, &tuning, wishes_);
    }
  }
}

}  // namespace alm::execute
