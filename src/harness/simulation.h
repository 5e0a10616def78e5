// Exchanges on a simulated network, by the protocol that runs on real ones: a transport::Engine for
// each phase of each rank, driven by simulated packets and time. The simulator has no protocol code
// of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "clocks/rate_claim.h"
#include "paths/weights.h"
#include "plan/plan.h"
#include "sim/options.h"
#include "sim/simulator.h"
#include "tcp/config.h"
#include "topology/cluster.h"
#include "transport/engine.h"

namespace alm::harness {

// How late a rank enters an exchange: exponentially distributed, drawn anew each time.
struct StartJitter {
  sim::Picos mean = 0;
  std::uint64_t seed = 1;
};

// Messages instead of the library's own protocol (harness/messages.h).
struct MessageFlow {
  std::uint32_t outstanding = 0;  // messages posted and not acknowledged, at once; 0: any number
  std::uint64_t chunk_bytes = 0;  // 0: a block is one message
  bool by_turns = false;          // the network card sends a packet of each message in turn
};

// Stripes over several paths, with completions (harness/striped_ranks.h). transport::Config says
// which paths.
struct StripedFlow {
  sim::Picos post = 0;           // processor time of a descriptor
  sim::Picos handle = 0;         // processor time of a completion or a notice
  double alpha = paths::kAlpha;  // of Eq 3, 0 to 1
  bool as_posted = false;        // the card serves descriptors in order, not queue pairs in turn
  bool first_apart = true;       // pairs of ranks begin with different paths
};

// An algorithm of an MPI library over TCP (harness/tcp_ranks.h).
struct TcpFlow {
  std::string algorithm;            // as model::StockSchedule has it
  tcp::Config config;               // segment_bytes 0: what the MTU holds
  std::uint32_t turn_segments = 4;  // one connection sends so many, then it is another's turn
  std::uint64_t send_buffer_bytes = 256 << 10;  // a send is over when all but so much has come
};

struct SimRequest {
  const topology::Cluster* cluster = nullptr;
  std::vector<base::HostId> hosts;  // of each rank; empty: every host has one
  // The plan of a rank. Messages in the memory of a host take no time.
  std::function<base::Result<plan::Plan>(std::uint32_t rank)> plan;
  std::uint64_t bytes = 0;  // per pair
  // Instead of `bytes`, for matrices that differ.
  std::function<std::uint64_t(std::uint32_t from, std::uint32_t to)> bytes_of;
  // Instead of both, exchanges that differ from one another: exchange e is stage e % stages. Plans
  // that forward blocks give an error.
  std::function<std::uint64_t(std::uint32_t stage, std::uint32_t from, std::uint32_t to)> bytes_in;
  std::uint32_t stages = 1;
  std::uint32_t exchanges = 1;  // a rank enters the next as soon as it has ended the one before
  bool together = false;        // all ranks enter the next when the last has ended the one before
  std::function<transport::Config(std::uint32_t rank)> config;
  // Changes the configuration for one phase of a rank's plan; may be empty.
  std::function<void(std::uint32_t rank, std::uint32_t phase, transport::Config& config)>
      configure_phase;
  // What a file tells the rank of its link (clocks/rate_claim.h); empty: nothing.
  std::function<clocks::RateClaim(std::uint32_t rank)> claim;
  std::optional<MessageFlow> messages;
  std::optional<StripedFlow> striped;  // instead of the protocol and of `messages`
  std::optional<TcpFlow> tcp;          // instead of all of these, and of the plan
  std::uint32_t overhead_bytes = 42;   // of headers around a datagram on the link
  sim::Options network;
  StartJitter jitter;
  sim::Picos starts_at = 0;  // when the first exchange begins, without jitter
  // Gets the share of the data that has come, 0 to 1; false stops the simulation. Called a few
  // times a second at most.
  std::function<bool(double)> progress;
  std::size_t memory_max = std::size_t{16} << 30;
};

struct TcpResult {
  std::uint64_t timeouts = 0;  // of RFC 6298
  std::uint64_t probes = 0;    // of tails that may be lost (RFC 8985)
  std::uint64_t cuts = 0;      // of windows
  std::uint64_t marked = 0;    // data segments that came with a mark of a switch
  // Time-outs, and probes that waited as long, because one segment was under way.
  std::uint64_t waits = 0;
  std::vector<std::uint32_t> exchange_waits;  // by exchange
  // [exchange] receivers to which some connection waited so.
  std::vector<std::uint32_t> waiting_receivers;
};

struct SimResult {
  std::vector<sim::Picos> exchange_time;  // from the end of the one before to the last rank's end
  std::vector<sim::Picos> rank_end;       // when each rank ended the last exchange
  std::uint64_t packets = 0;              // of any kind, put on hosts' links
  std::uint64_t dropped = 0;
  std::uint64_t packet_hops = 0;
  std::uint64_t events = 0;
  std::uint64_t out_of_order = 0;  // stripes: notices that waited for earlier ones
  transport::Counters counters;    // sum over ranks
  TcpResult tcp;
  std::vector<sim::PortStats> ports;  // 2 per link: up, down
  std::uint32_t bottleneck = 0;       // the port that was busy longest
  std::size_t memory_bytes = 0;
};

// A TCP connection that always has something to send (harness/bulk_flow.h describes the model).
struct BulkFlow {
  std::uint32_t from = 0, to = 0;  // hosts
  std::uint64_t bit_s = 0;         // at most, on the link; 0: no bound
};

// The routing label of the flow's data packets, which decides among equal paths.
std::uint32_t flow_label(routing::Rule rule, const BulkFlow& flow);

struct FlowResult {
  std::uint64_t packets = 0;  // that have come
  std::uint64_t lost = 0;     // and sent again
  std::uint64_t timeouts = 0;
  double bit_s = 0;  // on the link, from the first simulated moment to the last
};

struct SharedResult {
  std::vector<SimResult> jobs;  // ports, drops and events are those of all jobs together
  std::vector<FlowResult> flows;
  sim::Picos end = 0;  // of the simulation
};

// An estimate of the memory that a simulation of so many ranks takes, in bytes.
std::size_t memory_estimate(const topology::Cluster& cluster, std::size_t ranks);

// Errors: kBadInput for what cannot be simulated; kTimeout when a rank has waited for another
// longer than Config::peer_timeout, a limit was reached or the ports wait for each other (the
// message names the cycle); kUnsupported when `progress` stopped it.
base::Result<SimResult> simulate(const SimRequest& request);

// Jobs that share a network, each with ranks of its own, and TCP flows beside them. The cluster,
// the network's options, `progress` and `memory_max` are those of the first job. A job that has
// done its exchanges goes on with more of them until every job has done its own, so that no job
// ever runs alone; counters include them. Precondition: one job at least.
base::Result<SharedResult> simulate_shared(const std::vector<SimRequest>& jobs,
                                           const std::vector<BulkFlow>& flows);

// "leaf0 -> core"
std::string port_name(const topology::Cluster& cluster, std::uint32_t port);
// The port between two nodes, given by name; kBadInput if there is no such link.
base::Result<std::uint32_t> find_port(const topology::Cluster& cluster, std::string_view from,
                                      std::string_view to);

// TraceRecord::label of packets other than first transmissions of data.
constexpr std::uint32_t kLabelResent = 1u << 28;  // | packet number
constexpr std::uint32_t kLabelAck = 2u << 28;
constexpr std::uint32_t kLabelProbe = 3u << 28;  // probes, parities, and all control packets

}  // namespace alm::harness
