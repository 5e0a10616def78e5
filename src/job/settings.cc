#include "job/settings.h"

#include <string>

#include "execute/configuration.h"

namespace alm::job {

bool wants_threads(const base::Options& options) {
  return options.progress == "thread" && takes_threads(options);
}

bool takes_threads(const base::Options& options) {
  return options.progress != "off" && !options.disable && options.algorithm != "native";
}

base::Nanos hello_timeout(const base::Options& options) {
  return base::slowed(options.hello_timeout_ms * base::kMillisecond, options.time_scale);
}

base::Nanos peer_warning(const base::Options& options) {
  return base::slowed(options.peer_warning_s * base::kSecond, options.time_scale);
}

base::Nanos peer_timeout(const base::Options& options) {
  return base::slowed(options.peer_timeout_s * base::kSecond, options.time_scale);
}

base::Status check_path_options(const base::Options& options) {
  const auto possible =
      transport::check_paths(paths_max(options), static_cast<std::uint32_t>(options.path_batch),
                             transport::parse_reliability(options.reliability).value());
  if (possible) return {};
  return base::bad_input("ALLEMANDE_PATHS, ALLEMANDE_PATH_BATCH, ALLEMANDE_RELIABILITY: " +
                         possible.error().message);
}

std::optional<std::uint32_t> paths_asked(const base::Options& options) {
  if (options.paths == "auto") return std::nullopt;
  return static_cast<std::uint32_t>(std::stoul(options.paths));
}

// Go-back-N takes packets in order: it has one path unless it is told otherwise, which is refused.
std::uint32_t paths_max(const base::Options& options) {
  if (const auto asked = paths_asked(options)) return *asked;
  return options.reliability == "go-back-n" ? 1 : wire::kPathsMax;
}

bool finds_routes(const base::Options& options, std::uint32_t links) {
  return paths_max(options) > 1 && options.find_ways && links == 1;
}

paths::PathRule path_rule(const base::Options& options, bool planned) {
  const bool plans = options.path_policy == "auto" || options.path_policy == "assigned";
  if (!plans) return paths::parse_path_rule(options.path_policy).value();
  return planned ? paths::PathRule::kAssigned : paths::PathRule::kLeastLoaded;
}

io::EndpointOptions endpoint_options(const base::Options& options, const plan::Tuning* tuning,
                                     std::uint32_t links) {
  io::EndpointOptions endpoint;
  endpoint.mtu_bytes = options.mtu_bytes;
  if (endpoint.mtu_bytes == 0 && tuning != nullptr) endpoint.mtu_bytes = tuning->mtu_bytes;
  if (tuning != nullptr) {
    endpoint.grain_packets = tuning->grain_packets;
    endpoint.refuted_grain_packets = execute::kUnknownTrainMax;
    endpoint.burst_packets = tuning->burst_packets;
    endpoint.pace_mbit_s = tuning->host_rate_mbit_s * links;
    endpoint.pace_when_seen = true;
    endpoint.paces = options.pacing != "off";
  }
  if (tuning == nullptr) endpoint.grain_packets = execute::kUnknownTrainMax;
  if (options.grain_packets != 0) {
    endpoint.grain_packets = options.grain_packets;
    endpoint.refuted_grain_packets = 0;
  }
  const std::uint32_t paths = paths_asked(options).value_or(links);
  const bool chooses = paths > 1 && finds_routes(options, links);
  endpoint.paths = chooses ? io::sockets_to_choose_for(paths) : io::sockets_for(paths, links);
  endpoint.allow_gso = options.gso != "off";
  endpoint.allow_gro = options.gro != "off";
  return endpoint;
}

transport::Config channel_config(const base::Options& options, const plan::Tuning* tuning,
                                 std::uint32_t datagram_bytes, std::uint32_t receive_buffer_bytes) {
  transport::Config config;
  config.datagram_bytes = datagram_bytes;
  const execute::Wishes wishes{options.window_packets, options.grain_packets};
  if (tuning != nullptr) {
    execute::configure(config, tuning, wishes);
  } else {
    execute::configure_unknown(config, wishes);
  }
  // Beyond what the sockets were granted packets would be lost at the receiver.
  const std::uint32_t fit =
      std::max(1u, io::packets_that_fit(receive_buffer_bytes, datagram_bytes));
  config.window_packets = std::clamp(config.window_packets, 1u, fit);
  config.burst_packets = std::min(config.burst_packets, fit);
  config.refuted_window_packets = std::min(config.refuted_window_packets, fit);
  if (options.integrity == "header") config.covers = wire::Covers::kHeader;
  config.reliability = transport::parse_reliability(options.reliability).value();
  config.send_rule = transport::parse_send_rule(options.send_rule).value();
  config.path_batch = static_cast<std::uint32_t>(options.path_batch);
  config.yields = options.congestion_control != "off";
  config.slow_down(options.time_scale);
  config.peer_warning = peer_warning(options);
  config.peer_timeout = peer_timeout(options);
  return config;
}

}  // namespace alm::job
