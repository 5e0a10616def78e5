// What a simulation takes besides the cluster.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "routing/routes.h"
#include "sim/time.h"
#include "sim/trace.h"

namespace alm::sim {

// An uplink module as an object of its own: one engine for both directions, with a cost for each
// packet and for each input that waits for it.
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
  bool half_duplex = false;   // one direction at a time, what comes in first (card.cc)
  Picos turn = 0;             // half_duplex: what a change of direction costs
  std::uint64_t bit_s = 0;    // half_duplex: what it moves, besides the host's costs; 0: any rate
  std::uint32_t packets = 0;  // it holds, where switches wait for it (back-pressure); 0: any number
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
    kLinkDown,   // what is on the link is lost, both ways
    kBlockPort,  // nothing leaves the port, or the input buffer it leads to (input-buffered switch)
    kSlowHost,   // costs are `factor` times as high, at least `factor` frame times per packet
    kLossyLink   // of what is on the link a `part` is lost, both ways, each packet by itself
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
  // So long after a link goes down, or comes back, routes are made anew; kNever: they stay.
  Picos reroute_delay = kNever;
  std::uint64_t seed = 1;  // of losses on links that get other conditions
  bool changes = false;    // links get other conditions, or routes are made anew, from outside
  std::uint32_t frame_bytes = 1514;  // a full frame
  // Of input-buffered switches: frames an output holds besides the one on the link. 0 is the
  // textbook switch, whose crossbar is no faster than a link. 3 is what the published exchanges
  // need (docs/adr/0007-input-buffered-switches.md).
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
  // Called now and then; false stops the simulation.
  std::function<bool()> progress;
};

}  // namespace alm::sim
