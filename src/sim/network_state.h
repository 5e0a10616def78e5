// The state of a simulated network: ports, fifos, switches and hosts, the packets in them, and the
// events to come. Where a packet's departure is known when it arrives, forward() is all of its hop;
// where it depends on other packets, see fifos.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/event_queue.h"
#include "sim/faults.h"
#include "sim/options.h"
#include "sim/packet.h"
#include "sim/program.h"
#include "sim/random.h"
#include "sim/time.h"
#include "sim/trace.h"

namespace alm::sim {

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

  // `depth` packets wait, with this one.
  void count_sent(std::uint32_t length, Picos frame, std::uint32_t depth) {
    ++packets;
    bytes += length;
    busy += frame;
    if (depth > queue_high_water) queue_high_water = depth;
  }
};

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

  Picos frame_time(std::uint32_t bytes) {
    if (cached_bytes != bytes) {
      cached_bytes = bytes;
      serialization = sim::serialization(bytes, bit_s);
    }
    return serialization;
  }
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

  const HostCosts& costs_at(Picos now) const {
    return now >= slow_from && now < slow_until ? slow : costs;
  }
};

struct ModuleState {
  std::uint64_t both_ways_bit_s = 0;
  Picos per_packet = 0, per_waiting = 0;
  Picos busy_until = 0;
};

// What waits at a port: packets that wait for it, those among them that its PortStats already count
// as sent, those in the input buffer behind it, and bytes that its PortStats count although they
// are not on the link yet.
struct Waiting {
  std::uint32_t packets = 0, in_ring = 0, at_input = 0;
  std::uint64_t bytes = 0;
};

struct NetworkState {
  EventQueue queue;
  PacketPool pool;
  std::vector<Port> ports;
  std::vector<PortStats> stats;  // [port]
  std::vector<Fifo> fifos;
  std::vector<SwitchState> switches;
  std::vector<HostState> hosts;
  std::vector<ModuleState> modules;
  Faults faults;
  Program* program = nullptr;
  TraceSink* trace = nullptr;
  Picos now = 0;
  std::uint64_t dropped = 0;

  // Forgets packets in its ring that have started.
  void purge(Port& port) {
    std::uint32_t gone = 0;
    while (gone < port.ring_count && port.waiting(gone) <= now) ++gone;
    port.ring_head = (port.ring_head + gone) & port.ring_mask;
    port.ring_count -= gone;
    if (port.pooled) switches[port.from_switch].waiting -= gone;
  }

  void ring_push(Port& port, Picos start) {
    if (port.ring_count > port.ring_mask) lengthen_ring(port);
    port.waiting(port.ring_count++) = start;
    if (port.pooled) ++switches[port.from_switch].waiting;
  }

  // Whether a shared pool takes no further packet for a queue of this length.
  bool pool_refuses(SwitchState& node, std::uint32_t length) {
    if (node.pool == 0) return false;
    return shared_pool_refuses(node, length);
  }

  // Sends it on through an output queue of the switch.
  void forward(std::uint32_t out, std::uint32_t index, SwitchState& node) {
    Port& port = ports[out];
    if (port.ring_count > 0) purge(port);
    if (port.ring_count >= port.queue_limit || pool_refuses(node, port.ring_count)) {
      drop(out, index, false);
      return;
    }
    mark(out, index, port.ring_count);
    Picos earliest = now;
    if (node.backplane_bit_s > 0) {
      earliest = std::max(earliest, node.backplane_until);
      node.backplane_until = earliest + serialization(pool[index].bytes, node.backplane_bit_s);
    }
    send_ring(out, index, earliest);
  }

  // The same from a host, or behind the backplane: not before `earliest`.
  void send_ring(std::uint32_t out, std::uint32_t index, Picos earliest) {
    Port& port = ports[out];
    const std::uint32_t bytes = pool[index].bytes;
    const Picos frame = port.frame_time(bytes);
    const Picos start = std::max(earliest, port.busy_until);
    const Picos end = start + frame;
    port.busy_until = end;
    if (start > now) ring_push(port, start);
    stats[out].count_sent(bytes, frame, port.ring_count);
    if (trace != nullptr) trace_sent(out, index, now, start, end, port.ring_count);
    push_arrival(out, index, (port.cut_through ? start : end) + port.latency);
  }

  void mark(std::uint32_t port, std::uint32_t index, std::uint32_t length) {
    if (length < ports[port].mark_at) return;
    ++stats[port].marked;
    program->marked(index);
  }
  // Schedules the arrival of a packet's head (cut-through) or tail.
  void push_arrival(std::uint32_t port, std::uint32_t index, Picos at) {
    if (ports[port].to_host) program->due(at, index, !ports[port].watched);
    queue.push(at, EventKind::kArrive, port, index);
  }
  // A place is free in the buffer that the port leads to.
  void give_credit(std::uint32_t port) {
    if (ports[port].credits == kNone) return;
    ++ports[port].credits_coming;
    queue.push(now + ports[port].latency, EventKind::kCredit, port);
  }
  // The packet finds no room in a queue.
  void drop(std::uint32_t port, std::uint32_t index, bool at_input);
  // The packet is lost on the link.
  void lose(std::uint32_t port, std::uint32_t index);
  void trace_sent(std::uint32_t port, std::uint32_t index, Picos queued, Picos start, Picos end,
                  std::uint32_t depth);

  // Packets at a port and on its link, as a watcher of the whole network sees them.
  std::uint32_t load_of(std::uint32_t port);
  Waiting waiting(std::uint32_t port);
  std::size_t bytes() const;

 private:
  void lengthen_ring(Port& port);
  bool shared_pool_refuses(SwitchState& node, std::uint32_t length);
};

}  // namespace alm::sim
