// The packet simulator: hosts, links and switches of a cluster as one discrete-event model.
//
// A link direction is a port (routing/routes.h). Where a packet's departure is known when it
// arrives (drop-tail output queues), it costs one event per hop: departure = max(now, busy until) +
// bytes / rate, what has not started yet counts against the queue, and the arrival at the next hop
// is scheduled at once (simulator.cc). Where it depends on other packets (input buffers,
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
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "routing/routes.h"
#include "sim/event_queue.h"
#include "sim/options.h"
#include "sim/packet.h"
#include "sim/random.h"
#include "topology/cluster.h"

namespace alm::sim {

enum class Nearness : std::uint8_t { kFar, kNearer, kNext };

// The program that runs on the hosts.
class Program {
 public:
  virtual ~Program() = default;
  // The next packet of this host, if it has one to send now: fills destination, flow, bytes, label.
  virtual bool pull(std::uint32_t host, Picos now, std::uint32_t index, Packet& packet) = 0;
  virtual void receive(std::uint32_t host, Picos now, std::uint32_t index,
                       const Packet& packet) = 0;
  // deadline() of the host has come; pull() follows.
  virtual void timer(std::uint32_t host, Picos now) = 0;
  virtual Picos deadline(std::uint32_t host) const = 0;  // kNever: none
  virtual bool done() const = 0;
  // The packet will not arrive: a queue dropped it or a link lost it.
  virtual void lost(std::uint32_t /*index*/) {}
  // The packet found a queue that is long enough for its switch to mark it.
  virtual void marked(std::uint32_t /*index*/) {}
  // The packet is on the last link of its route and reaches its host at `at`. `surely` is false if
  // the link has faults.
  virtual void due(Picos /*at*/, std::uint32_t /*index*/, bool /*surely*/) {}
  // If outgrows_cache() is true, the simulator gives hints: expect() up to three times as a packet
  // comes nearer to a host, which it may never reach, and expect_pull() before a pull. They may
  // only prefetch.
  virtual bool outgrows_cache() const { return false; }
  virtual void expect(std::uint32_t /*index*/, Nearness) const {}
  virtual void expect_pull(std::uint32_t /*host*/) const {}

  // Whether wake_all() has been called since the last call: then all hosts are pulled.
  bool take_wake() { return std::exchange(wake_, false); }

 protected:
  void wake_all() { wake_ = true; }

 private:
  bool wake_ = false;
};

struct alignas(64) PortStats {
  std::uint64_t packets = 0, bytes = 0;
  std::uint64_t dropped = 0;           // by its queue, or on the link
  std::uint64_t lost = 0;              // the part of `dropped` that was lost on the link
  std::uint64_t marked = 0;            // ECN
  std::uint32_t queue_high_water = 0;  // packets that waited for it
  Picos busy = 0;
  // For the input buffer behind it, in an input-buffered switch.
  std::uint64_t input_dropped = 0;
  std::uint32_t input_high_water = 0;
};

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
  Picos next_time() { return queue_.next_time(); }
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
  // What waits at a port: packets that wait for it, those among them that stats() already counts as
  // sent, those in the input buffer behind it, and bytes that stats() counts although they are not
  // on the link yet.
  struct Waiting {
    std::uint32_t packets = 0, in_ring = 0, at_input = 0;
    std::uint64_t bytes = 0;
  };
  Waiting waiting(std::uint32_t port);
  std::uint64_t rate_bit_s(std::uint32_t port) const { return ports_[port].bit_s; }

  Picos now() const { return now_; }
  std::uint64_t events() const { return queue_.popped(); }
  std::uint64_t packet_hops() const { return hops_; }
  std::uint64_t dropped() const { return dropped_; }
  const PortStats& stats(std::uint32_t port) const { return stats_[port]; }
  std::uint32_t ports() const { return static_cast<std::uint32_t>(ports_.size()); }
  const routing::Routes& routes() const { return routes_; }
  // When routes were made anew, and whether every host could still be reached.
  struct Rerouted {
    Picos at = 0;
    bool whole = true;
  };
  const std::vector<Rerouted>& rerouted() const { return rerouted_; }
  // After kDeadlock: ports that wait for each other in turn.
  const std::vector<std::uint32_t>& deadlock() const { return deadlock_; }
  std::size_t bytes() const;

 private:
  // The fields that every packet touches come first, in one cache line.
  struct alignas(64) Port {
    Picos busy_until = 0;     // end of the last frame taken
    Picos serialization = 0;  // of cached_bytes
    std::uint32_t cached_bytes = 0;
    std::uint32_t queue_limit = 0;
    Picos latency = 0;
    std::uint32_t to = 0;           // host, or switch index
    std::uint32_t ring_mask = 0;    // its length, a power of two, less one
    std::unique_ptr<Picos[]> ring;  // start times of packets that wait
    std::uint32_t ring_head = 0, ring_count = 0;
    bool to_host = false;
    bool cut_through = false;  // the switch at the far end does not wait for the tail
    bool into_fifo = false;    // an input buffer is at the far end
    bool with_fifo = false;    // packets for it wait in fifos
    bool watched = false;      // has faults of its own
    bool pooled = false;       // its queue counts against the pool of its switch

    std::uint32_t mark_at = UINT32_MAX;  // marks when so many packets wait
    bool arbitrating = false;
    bool starved = false;  // waits for credit
    std::uint64_t bit_s = 0, built_bit_s = 0;
    std::uint32_t from_switch = kNone;  // kNone: the port of a host

    Picos gap_until = 0;              // host: g
    Picos accepts_at = 0;             // with fifos: when it takes the next packet
    std::uint32_t output_frames = 0;  // with fifos: frames it takes besides the one on the link

    std::uint32_t waiter_first = kNone, waiter_last = kNone;  // fifos that ask for it
    std::uint32_t waiters = 0;
    std::uint32_t input_fifo = kNone;   // the buffer behind it, in an input-buffered switch
    std::uint32_t output_fifo = kNone;  // where packets for it wait, in any other switch or a host
    std::uint32_t module = kNone;
    std::uint32_t credits = kNone;  // kNone: no flow control
    std::uint32_t credits_coming = 0;

    Picos& waiting(std::uint32_t place) { return ring[(ring_head + place) & ring_mask]; }
  };

  struct Fifo {
    std::uint32_t head = kNone, tail = kNone, count = 0, capacity = 0;
    std::uint32_t in_port = kNone;  // kNone for output queues
    std::uint32_t host = kNone;     // kNone unless it is a host's own queue
    Picos busy_until = 0;           // until then its head passes through the switch
    bool waiting = false;           // asks for a port
    std::uint32_t next_waiter = kNone;
  };

  struct SwitchState {
    std::uint64_t backplane_bit_s = 0;  // 0: carries everything
    Picos backplane_until = 0;
    std::uint32_t pool = 0;              // 0: none
    std::uint64_t alpha_millionths = 0;  // dynamic thresholds; 0: none
    std::uint32_t waiting = 0;           // packets in its rings; some may have left since
    bool input_buffered = false;
    bool back_pressure = false;
    std::vector<std::uint32_t> ports;  // egress
  };

  struct HostState {
    std::uint32_t egress = 0;
    bool pull_pending = false;
    Picos timer_at = kNever;
    Picos free_at = 0;  // its processor
    HostCosts costs;
    Picos slow_from = kNever, slow_until = kNever;  // costs are those in `slow`
    HostCosts slow;
    Picos next_pause = kNever;
    Random random{0};
    // For a half-duplex card.
    std::uint32_t sending = kNone;  // packet
    Picos resumes_at = 0;           // when sending it goes on
    Picos send_ends = 0;
    Picos receives_until = 0;
    bool sent_last = false;
  };

  struct ModuleState {
    std::uint64_t both_ways_bit_s = 0;
    Picos per_packet = 0, per_waiting = 0;
    Picos busy_until = 0;
  };

  struct Watch {
    Fault fault;
    std::uint32_t seen = 0;
  };

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
  const HostCosts& costs_of(const HostState& host) const {
    return now_ >= host.slow_from && now_ < host.slow_until ? host.slow : host.costs;
  }
  Picos processor(HostState& host);
  void inject(HostState& host, std::uint32_t index);
  void put_on_link(HostState& host, std::uint32_t index, Picos ready);
  // routes.cc
  std::uint32_t enter(const Packet& packet);
  std::uint32_t load_of(std::uint32_t port);
  std::uint64_t load_from(std::uint32_t route);
  void reroute();
  Picos frame_time(Port& port, std::uint32_t bytes) {
    if (port.cached_bytes != bytes) {
      port.cached_bytes = bytes;
      port.serialization = serialization(bytes, port.bit_s);
    }
    return port.serialization;
  }
  void purge(Port& port);
  void ring_push(Port& port, Picos start);
  bool pool_refuses(SwitchState& node, std::uint32_t length);
  void mark(std::uint32_t port, std::uint32_t index, std::uint32_t length) {
    if (length < ports_[port].mark_at) return;
    ++stats_[port].marked;
    program_->marked(index);
  }
  void forward(std::uint32_t out, std::uint32_t index, SwitchState& node);
  void send_ring(std::uint32_t out, std::uint32_t index, Picos earliest);
  void count_sent(std::uint32_t port, std::uint32_t bytes, Picos busy, std::uint32_t depth) {
    PortStats& stats = stats_[port];
    ++stats.packets;
    stats.bytes += bytes;
    stats.busy += busy;
    if (depth > stats.queue_high_water) stats.queue_high_water = depth;
  }
  void drop(std::uint32_t port, std::uint32_t index, bool at_input);
  // Schedules the arrival of a packet's head (cut-through) or tail.
  void push_arrival(std::uint32_t port, std::uint32_t index, Picos at) {
    if (ports_[port].to_host) program_->due(at, index, !ports_[port].watched);
    queue_.push(at, EventKind::kArrive, port, index);
  }
  void trace_sent(std::uint32_t port, std::uint32_t index, Picos queued, Picos start, Picos end,
                  std::uint32_t depth);
  // card.cc
  bool card_is_free(const HostState& host) const;
  Picos card_time(std::uint32_t index);
  void card_send(std::uint32_t host, std::uint32_t index);
  void on_card(std::uint32_t host);
  void card_receive(std::uint32_t host, std::uint32_t index);
  // fifo.cc
  void enqueue(std::uint32_t fifo, std::uint32_t index);
  void request(std::uint32_t fifo);
  void arbitrate(std::uint32_t port);
  void schedule_arbitrate(std::uint32_t port, Picos when);
  Picos free_time(Port& port);
  void transmit(std::uint32_t port, std::uint32_t fifo);
  void input_free(std::uint32_t fifo);
  void give_credit(std::uint32_t port);
  void on_credit(std::uint32_t port);
  // faults.cc
  bool link_down(std::uint32_t port) const;
  bool lost_by_chance(std::uint32_t port);
  void lose(std::uint32_t port, std::uint32_t index);
  void count_watched(std::uint32_t port);
  Picos blocked_until(std::uint32_t port) const;
  // deadlock.cc
  void watch_for_deadlock();
  void check_deadlock();
  std::vector<std::uint32_t> awaited(std::uint32_t port) const;

  Options options_;
  topology::Cluster cluster_;  // where routes may be made anew
  routing::Routes routes_;
  std::vector<std::uint64_t> chosen_;  // kLeastLoaded, by pair: 2 x (label + 1) + route; 0: none
  std::vector<Rerouted> rerouted_;
  EventQueue queue_;
  PacketPool pool_;
  std::vector<Port> ports_;
  std::vector<PortStats> stats_;
  std::vector<Fifo> fifos_;
  std::vector<SwitchState> switches_;
  std::vector<HostState> hosts_;
  std::vector<ModuleState> modules_;
  std::vector<Watch> watches_;
  Program* program_ = nullptr;
  TraceSink* trace_ = nullptr;
  bool looks_ahead_ = false;
  bool costs_ = false;  // some host's processor takes time
  Picos now_ = 0;
  std::uint64_t hops_ = 0, dropped_ = 0;
  bool checking_ = false;
  std::uint32_t starved_ = 0;  // ports that wait for credit
  std::vector<std::uint32_t> deadlock_;
};

}  // namespace alm::sim
