#include "scenario/scenario.h"

#include <fmt/core.h>

#include <string>
#include <utility>

#include "messages/turns.h"
#include "scenario/network.h"
#include "scenario/traffic.h"

namespace alm::scenario {
namespace {

base::Status set_protocol(Scenario& out) {
  const Options& asked = out.asked;
  transport::Config& config = out.config;
  config.reliability = asked.reliability;
  config.send_rule = asked.send_rule;
  config.yields = asked.congestion_control == "aimd";
  config.piggyback_acks = asked.piggyback_acks;
  config.timer_jitter = sim::to_nanos(asked.timer_jitter_us);
  config.retransmit_budget_packets = asked.retransmit_budget_packets;
  config.peer_timeout = sim::to_nanos(asked.peer_timeout_s);
  config.paths = asked.paths;
  config.path_rule = asked.path_policy;
  config.path_batch = asked.path_batch;
  const auto checked = transport::check_paths(asked.paths, asked.path_batch, asked.reliability);
  if (!checked) return base::bad_input("options: " + checked.error().message);
  constexpr std::uint32_t kDatagramLeast = 128;
  const std::uint32_t datagram = asked.datagram_bytes;
  if (datagram != 0 && datagram < kDatagramLeast) {
    return base::bad_input(fmt::format("options: `datagram_bytes` is {}; expected {} to {}",
                                       datagram, kDatagramLeast, kDatagramMax));
  }
  return {};
}

// As the library sends them where the network loses nothing; a library that posts everything at
// once posts whole blocks.
void set_messages(Scenario& out) {
  const Options& asked = out.asked;
  const bool direct = asked.algorithm.algorithm == plan::Algorithm::kDirect;
  if (asked.transport == "messages") {
    out.messages = harness::MessageFlow{
        .outstanding = asked.outstanding.value_or(direct ? 0 : messages::MessageTurns::kFew),
        .chunk_bytes = asked.chunk_bytes.value_or(direct ? 0 : messages::MessageTurns::kChunkBytes),
        .by_turns = asked.by_turns};
  } else if (asked.transport == "stripes") {
    out.striped = harness::StripedFlow{.post = asked.post_ns,
                                       .handle = asked.completion_ns,
                                       .alpha = asked.stripe_alpha,
                                       .as_posted = asked.stripes_as_posted,
                                       .first_apart = asked.stripes_apart};
  }
}

// Algorithms of MPI libraries, and they alone, go over TCP.
base::Status set_tcp(Scenario& out) {
  const Options& asked = out.asked;
  const bool over_tcp = asked.transport.starts_with("tcp");
  const std::string& stock = asked.algorithm.stock;
  if (over_tcp && stock.empty()) {
    return base::bad_input(fmt::format(
        "options: transport `{}` carries algorithms of MPI libraries, such as openmpi:pairwise or "
        "mpich:scattered; ours go over udp, messages or stripes",
        asked.transport));
  }
  if (!over_tcp && !stock.empty()) {
    return base::bad_input(fmt::format(
        "options: algorithm `{}` is an MPI library's; expected transport tcp, tcp:cubic, "
        "tcp:newreno or tcp:dctcp with it",
        stock));
  }
  if (!over_tcp) return {};
  harness::TcpFlow flow;
  flow.algorithm = stock;
  flow.turn_segments = asked.turn_segments;
  tcp::Config& config = flow.config;
  if (asked.transport == "tcp:newreno") config.control = tcp::Control::kNewReno;
  if (asked.transport == "tcp:dctcp") config.control = tcp::Control::kDctcp;
  config.segment_bytes = 0;  // what the MTU holds
  config.initial_window = asked.initial_window;
  config.sack = asked.sack;
  config.rack = asked.rack;
  config.ecn = asked.ecn;
  config.idle_restart = asked.idle_restart;
  config.rto_min = sim::to_nanos(asked.rto_min_ms);
  config.delayed_ack = sim::to_nanos(asked.delayed_ack_ms);
  out.tcp = std::move(flow);
  return {};
}

}  // namespace

base::Result<Scenario> make_scenario(const topology::Cluster& cluster, Options asked) {
  Scenario out;
  out.asked = std::move(asked);
  if (auto set = set_protocol(out); !set) return set.error();
  set_messages(out);
  if (auto set = set_tcp(out); !set) return set.error();
  if (auto set = set_traffic(cluster, out); !set) return set.error();
  if (auto set = set_network(cluster, out); !set) return set.error();
  return out;
}

}  // namespace alm::scenario
