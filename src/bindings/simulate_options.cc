#include "bindings/simulate_options.h"

#include <fmt/core.h>

#include <cmath>

#include "bindings/option_reader.h"
#include "bindings/simulate_network.h"
#include "bindings/simulate_traffic.h"
#include "messages/turns.h"

namespace nb = nanobind;

namespace alm::bindings {
namespace {

void read_jitter(Reader& reader, SimulateOptions& out, std::uint64_t seed) {
  const std::string kind = reader.text("jitter", "start");
  const sim::Picos mean = reader.time("jitter_us", sim::kPicosPerMicro);
  const sim::Picos interval = reader.time("jitter_interval_us", sim::kPicosPerMicro);
  if (kind == "start") {
    out.jitter = {mean, seed};
    return;
  }
  if (kind != "pause") {
    refuse(fmt::format("options: jitter `{}` is unknown; expected start or pause", kind));
  }
  if (mean > 0 && interval <= 0) {
    refuse("options: jitter `pause` needs jitter_interval_us, the mean time between pauses");
  }
  out.network.pauses = {mean, interval, seed};
}

void read_paths(Reader& reader, SimulateOptions& out) {
  constexpr std::uint64_t kMost = wire::kPathsMax;
  out.config.paths = static_cast<std::uint32_t>(reader.count("paths", 1, 1, kMost));
  out.config.path_rule =
      value_or_raise(paths::parse_path_rule(reader.text("path_policy", "least-loaded")));
  out.config.path_batch = static_cast<std::uint32_t>(reader.count("path_batch", 0, 0, kMost));
  if (const auto checked = paths::check_paths(out.config.paths, out.config.path_batch); !checked) {
    refuse("options: " + checked.error().message);
  }
  if (out.config.paths > 1 && out.config.reliability == transport::Reliability::kGoBackN) {
    refuse("options: `paths` above 1 need reliability `selective-repeat`, as packets overtake");
  }
}

void read_protocol(Reader& reader, SimulateOptions& out) {
  const std::string reliability = reader.text("reliability", "selective-repeat");
  if (reliability == "go-back-n") {
    out.config.reliability = transport::Reliability::kGoBackN;
  } else if (reliability != "selective-repeat") {
    refuse(
        fmt::format("options: reliability `{}` is unknown; expected selective-repeat or go-back-n",
                    reliability));
  }
  read_paths(reader, out);
  const std::string rule = reader.text("send_rule", "either");
  if (rule == "receive-clock") {
    out.config.send_rule = transport::SendRule::kReceiveClock;
  } else if (rule == "unacked") {
    out.config.send_rule = transport::SendRule::kUnacked;
  } else if (rule != "either") {
    refuse(fmt::format(
        "options: send_rule `{}` is unknown; expected either, receive-clock or unacked", rule));
  }
  const std::string control = reader.text("congestion_control", "aimd");
  if (control != "aimd" && control != "off") {
    refuse(
        fmt::format("options: congestion_control `{}` is unknown; expected aimd or off", control));
  }
  out.config.yields = control == "aimd";
  out.config.piggyback_acks = reader.flag("piggyback_acks", true);
  out.config.timer_jitter =
      sim::to_nanos(reader.time("timer_jitter_us", sim::kPicosPerMicro, 1000));
  out.config.retransmit_budget_packets =
      reader.count32("retransmit_budget_packets", out.config.retransmit_budget_packets, 1);
  out.config.peer_timeout = sim::to_nanos(reader.time("peer_timeout_s", sim::kPicosPerSecond, 300));
}

// As the library sends them where the network loses nothing; a library that posts everything at
// once posts whole blocks.
void read_messages(Reader& reader, SimulateOptions& out) {
  const std::string transport = reader.text("transport", "udp");
  const bool direct = out.algorithm == plan::Algorithm::kDirect;
  harness::MessageFlow flow;
  flow.outstanding = reader.count32("outstanding", direct ? 0 : messages::MessageTurns::kFew);
  flow.chunk_bytes =
      reader.count("chunk_bytes", direct ? 0 : messages::MessageTurns::kChunkBytes, 0, kSizeMax);
  flow.by_turns = reader.flag("by_turns", false);
  harness::StripedFlow striped;
  striped.post = reader.time("post_ns", sim::kPicosPerNano);
  striped.handle = reader.time("completion_ns", sim::kPicosPerNano);
  striped.alpha = reader.get<double>("stripe_alpha", striped.alpha, "a number");
  if (!(striped.alpha > 0 && striped.alpha <= 1)) {
    refuse(
        fmt::format("options: `stripe_alpha` is {}; expected more than 0, up to 1", striped.alpha));
  }
  if (transport == "stripes") {
    out.striped = striped;
  } else if (transport == "messages") {
    out.messages = flow;
  } else if (transport != "udp") {
    refuse(fmt::format("options: transport `{}` is unknown; expected udp, messages or stripes",
                       transport));
  }
}

}  // namespace

SimulateOptions read_simulate_options(const topology::Cluster& cluster, const nb::dict& options) {
  Reader reader(options, "options");
  SimulateOptions out;
  const std::string mode = reader.text("mode", "packet");
  if (mode != "packet") refuse(fmt::format("options: mode `{}`; expected packet", mode));
  auto named = value_or_raise(plan::parse_named(reader.text("algorithm", "sync-shuffle")));
  out.algorithm = named.algorithm;
  out.shape = std::move(named.shape);
  out.permutation = value_or_raise(plan::parse_permutation(reader.text("permutation", "balanced")));
  out.contention_aware = reader.flag("contention_aware", true);
  out.omega = reader.count32("omega", 0);
  out.size = reader.count("size", 0, 0, kSizeMax);
  out.exchanges = reader.count32("exchanges", 1, 1);
  out.window_packets = reader.count32("window_packets", 0);
  out.window_with_acks = reader.flag("window_with_acks", false);
  out.grain_packets = reader.count32("grain_packets", 0);
  out.datagram_bytes = reader.count32("datagram_bytes", 0);
  if (out.datagram_bytes != 0 && (out.datagram_bytes < 128 || out.datagram_bytes > 65507)) {
    refuse(
        fmt::format("options: `datagram_bytes` is {}; expected 128 to 65507", out.datagram_bytes));
  }
  const std::uint64_t seed = reader.count("seed", 1, 0, UINT64_MAX);
  read_protocol(reader, out);
  read_messages(reader, out);
  out.seed = seed;
  read_traffic_options(reader, cluster, out);
  read_jitter(reader, out, seed);

  read_network(reader, cluster, out);
  out.uneven_steps = reader.flag("uneven_steps", true);
  out.network.time_max = reader.time("time_max_s", sim::kPicosPerSecond, 1e5);
  out.network.events_max = reader.count("events_max", UINT64_MAX, 1, UINT64_MAX);
  out.memory_max = reader.count("memory_max_mib", 16384, 1, 1u << 24) << 20;
  out.trace = reader.flag("trace", false);

  const std::uint32_t frame =
      (out.datagram_bytes != 0 ? out.datagram_bytes + 28 : cluster.framing.mtu_bytes) +
      cluster.framing.link_header_bytes;
  out.network.frame_bytes = frame;
  read_faults(reader, cluster, out);
  reader.finish();
  return out;
}

}  // namespace alm::bindings
