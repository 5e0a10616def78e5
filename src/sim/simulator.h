// The packet simulator: hosts, links and switches of a cluster as one discrete-event model.
//
// A link direction is a port (routing/routes.h). Where a packet's departure is known when it
// arrives (drop-tail output queues), it costs one event per hop: departure = max(now, busy until) +
// bytes / rate, what has not started yet counts against the queue, and the arrival at the next hop
// is scheduled at once (network_state.h). Where it depends on other packets (input buffers,
// back-pressure, modules shared by two directions, blocked ports), packets wait in fifos that ask
// for a port and are served when it is free, with up to three events per hop (fifos.cc).
//
// Hosts are pulled: whenever its link takes a packet, a host's program is asked for one.
//
// run() processes all events as fast as it can. A caller with a clock of its own (src/emulate) uses
// begin() and advance() instead.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "routing/routes.h"
#include "sim/fifos.h"
#include "sim/network_state.h"
#include "sim/options.h"
#include "sim/packet.h"
#include "sim/program.h"
#include "topology/cluster.h"

namespace alm::sim {

enum class Outcome { kDone, kIdle, kStopped, kTimeLimit, kEventLimit, kDeadlock };

class Simulator {
 public:
  static base::Result<std::unique_ptr<Simulator>> make(const topology::Cluster& cluster,
                                                       const Options& options);

  // Runs until the program is done or no events are left.
  Outcome run(Program& program);

  // Pulls the first packets from all hosts.
  void begin(Program& program);
  // Processes all events up to `until`, which is now() then.
  void advance(Picos until);
  // The time of the next event; kNever: there is none.
  Picos next_time() { return net_.queue.next_time(); }
  // To be called when the program has made deadline() of this host earlier.
  void rearm(std::uint32_t host);

  // Changes a link from now on, both ways: to this part of its original rate, and to losing this
  // part of the packets (0: none; 1: all).
  struct Condition {
    double rate = 1;
    double loss = 0;
  };
  void set_condition(std::uint32_t link, const Condition& condition);
  // Makes routes anew without these links. If a host would have no route to another, an error is
  // returned and the earlier routes stay.
  base::Status reroute_without(const std::vector<bool>& dead);
  Waiting waiting(std::uint32_t port) { return net_.waiting(port); }
  std::uint64_t rate_bit_s(std::uint32_t port) const { return net_.ports[port].bit_s; }

  Picos now() const { return net_.now; }
  std::uint64_t events() const { return net_.queue.popped(); }
  std::uint64_t packet_hops() const { return hops_; }
  std::uint64_t dropped() const { return net_.dropped; }
  const PortStats& stats(std::uint32_t port) const { return net_.stats[port]; }
  std::uint32_t ports() const { return static_cast<std::uint32_t>(net_.ports.size()); }
  const routing::Routes& routes() const { return routes_; }
  // When routes were made anew, and whether every host could still be reached.
  struct Rerouted {
    Picos at = 0;
    bool whole = true;
  };
  const std::vector<Rerouted>& rerouted() const { return rerouted_; }
  // After kDeadlock: ports that wait for each other in turn.
  const std::vector<std::uint32_t>& deadlock() const { return fifos_.deadlock(); }
  std::size_t bytes() const { return routes_.bytes() + net_.bytes(); }

 private:
  Simulator() = default;
  friend class Builder;

  // simulator.cc
  void handle(const Event& event);
  void look_ahead();
  void arrive(std::uint32_t port, std::uint32_t index);
  void deliver(std::uint32_t host, std::uint32_t index);
  void receive(std::uint32_t host, std::uint32_t index);
  void pull(std::uint32_t host);
  bool takes(HostState& host);
  void on_timer(std::uint32_t host);
  Picos processor(HostState& host);
  void inject(HostState& host, std::uint32_t index);
  void put_on_link(HostState& host, std::uint32_t index, Picos ready);
  // routes.cc
  std::uint32_t enter(const Packet& packet);
  std::uint64_t load_from(std::uint32_t route);
  void reroute();
  // card.cc
  bool card_is_free(const HostState& host) const;
  Picos card_time(std::uint32_t index);
  void card_send(std::uint32_t host, std::uint32_t index);
  void on_card(std::uint32_t host);
  void card_receive(std::uint32_t host, std::uint32_t index);

  Options options_;
  topology::Cluster cluster_;  // where routes may be made anew
  routing::Routes routes_;
  std::vector<std::uint64_t> chosen_;  // kLeastLoaded, by pair: 2 x (label + 1) + route; 0: none
  std::vector<Rerouted> rerouted_;
  NetworkState net_;
  Fifos fifos_{net_, options_};
  bool looks_ahead_ = false;
  bool costs_ = false;  // some host's processor takes time
  std::uint64_t hops_ = 0;
};

}  // namespace alm::sim
