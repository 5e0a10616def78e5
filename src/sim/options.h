// The options of a simulation, besides the cluster.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "routing/routes.h"
#include "sim/time.h"
#include "sim/trace.h"

namespace alm::sim {

// An uplink module: one engine for both directions of a link, with a cost for each packet and for
// each input that waits for it.
struct Module {
  std::uint32_t link = 0;
  double both_ways_mbit_s = 0;  // 0: no cap on bytes
  Picos per_packet = 0;
  Picos per_waiting = 0;
};

// The processor and network card of a host (reference section 1). All 0: infinitely fast.
struct HostCosts {
  Picos send = 0;     // O_s
  Picos receive = 0;  // O_r + U_r
  Picos gap = 0;      // g: between the starts of two frames
  Picos user = 0;     // U_r, of `receive`
  bool any() const { return send > 0 || receive > 0 || gap > 0; }
};

// The network card of a host, where it is more than a wire.
struct HostCard {
  bool half_duplex = false;   // one direction at a time, incoming packets first (card.cc)
  Picos turn = 0;             // half_duplex: time of a change of direction
  std::uint64_t bit_s = 0;    // half_duplex: its rate, besides the host's costs; 0: any
  std::uint32_t packets = 0;  // input buffer, where the switch knows back-pressure; 0: any
};

// The operating system takes the processor away: pauses of exponential length, at exponential
// intervals, each host by itself.
struct Pauses {
  Picos mean = 0;
  Picos interval = 0;  // mean time between pauses; 0: none
  std::uint64_t seed = 1;
};

struct Fault {
  enum class Kind {
    kLinkDown,   // packets on the link are lost, both ways
    kBlockPort,  // nothing leaves the port, or the input buffer behind it (input-buffered switch)
    kSlowHost,   // costs are `factor` times as high, at least `factor` frame times per packet
    kLossyLink   // each packet on the link is lost with probability `part`, both ways
  };
  Kind kind = Kind::kLinkDown;
  std::uint32_t port = 0;  // not kSlowHost
  std::uint32_t host = 0;  // kSlowHost
  Picos start = 0;
  Picos duration = 0;               // 0: for good (not kBlockPort)
  std::uint32_t after_packets = 0;  // kBlockPort: start when this many have come there
  double factor = 1;                // kSlowHost
  double part = 0;                  // kLossyLink
  std::uint64_t seed = 1;           // kLossyLink: which packets
};

struct Options {
  routing::Rule rule = routing::Rule::kDModK;
  routing::Settings routes;
  // Routes are made anew so long after a link goes down or comes back; kNever: they stay.
  Picos reroute_delay = kNever;
  std::uint64_t seed = 1;            // for losses on links whose condition is changed from outside
  bool changes = false;              // set_condition() or reroute_without() will be called
  std::uint32_t frame_bytes = 1514;  // a full frame
  // Input-buffered switches: how many frames an output holds besides the one on the link. 0 is the
  // textbook switch, whose crossbar is no faster than a link. The published exchanges need 3
  // (docs/adr/0007-input-buffered-switches.md).
  std::uint32_t output_frames = 3;
  std::uint32_t host_queue_packets = 6;  // a sender waits when so many of its own are queued
  HostCosts costs;
  HostCard card;
  Pauses pauses;
  std::vector<Module> modules;
  std::vector<Fault> faults;
  TraceSink* trace = nullptr;
  Picos time_max = 1'000'000 * kPicosPerSecond;
  std::uint64_t events_max = UINT64_MAX;
  // Called from time to time; false stops the simulation.
  std::function<bool()> progress;
};

}  // namespace alm::sim
