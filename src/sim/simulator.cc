// The event loop, hosts, and output queues whose departures are known on arrival.
#include "sim/simulator.h"

#include <algorithm>

namespace alm::sim {
namespace {

constexpr std::uint64_t kProgressEvery = 1 << 17;

}  // namespace

void Simulator::begin(Program& program) {
  program_ = &program;
  looks_ahead_ = program.outgrows_cache();
  for (std::uint32_t host = 0; host < hosts_.size(); ++host) pull(host);
}

void Simulator::advance(Picos until) {
  while (queue_.next_time() <= until) {
    const Event event = queue_.pop();
    now_ = event.time;
    handle(event);
  }
  now_ = std::max(now_, until);
}

Outcome Simulator::run(Program& program) {
  begin(program);
  std::uint64_t next_progress = kProgressEvery;
  while (!program.done()) {
    if (queue_.empty()) return Outcome::kIdle;
    if (looks_ahead_) look_ahead();
    const Event event = queue_.pop();
    now_ = event.time;
    handle(event);
    if (program.take_wake()) {
      for (std::uint32_t host = 0; host < hosts_.size(); ++host) pull(host);
    }
    if (event.kind == EventKind::kCheck && !deadlock_.empty()) return Outcome::kDeadlock;
    if (now_ > options_.time_max) return Outcome::kTimeLimit;
    if (queue_.popped() < next_progress) continue;
    next_progress += kProgressEvery;
    if (options_.progress && !options_.progress()) return Outcome::kStopped;
    if (queue_.popped() >= options_.events_max) return Outcome::kEventLimit;
  }
  return Outcome::kDone;
}

// With many hosts hardly anything that an event touches is in the processor's cache: it is fetched
// while other events are handled.
void Simulator::look_ahead() {
  constexpr std::size_t kFar = 20, kNearer = 13, kNext = 6;  // events
  if (const auto* item = queue_.peek(kFar)) {
    const Event event = EventQueue::event_of(*item);
    if (event.kind == EventKind::kArrive) {
      __builtin_prefetch(&ports_[event.target]);
      __builtin_prefetch(&pool_[event.packet]);
      program_->expect(event.packet, Nearness::kFar);
    }
  }
  if (const auto* item = queue_.peek(kNearer)) {
    const Event event = EventQueue::event_of(*item);
    if (event.kind == EventKind::kArrive) {
      const Port& port = ports_[event.target];
      if (port.to_host) {
        program_->expect(event.packet, Nearness::kNearer);
      } else {
        routes_.prefetch(port.to, pool_[event.packet].destination);
      }
    }
  }
  if (const auto* item = queue_.peek(kNext)) {
    const Event event = EventQueue::event_of(*item);
    if (event.kind == EventKind::kPull) program_->expect_pull(event.target);
    if (event.kind != EventKind::kArrive) return;
    const Port& port = ports_[event.target];
    if (port.to_host) {
      program_->expect(event.packet, Nearness::kNext);
      return;
    }
    std::uint32_t flow = pool_[event.packet].flow;
    const std::uint32_t out = routes_.next(port.to, pool_[event.packet].destination, flow);
    if (out == routing::kNoPort) return;
    __builtin_prefetch(&ports_[out]);
    __builtin_prefetch(&stats_[out]);
  }
}

void Simulator::handle(const Event& event) {
  switch (event.kind) {
    case EventKind::kArrive:
      arrive(event.target, event.packet);
      break;
    case EventKind::kReady:
      forward(event.target, event.packet, switches_[ports_[event.target].from_switch]);
      break;
    case EventKind::kPull:
      hosts_[event.target].pull_pending = false;
      pull(event.target);
      break;
    case EventKind::kTimer:
      on_timer(event.target);
      break;
    case EventKind::kDeliver:
      receive(event.target, event.packet);
      break;
    case EventKind::kArbitrate:
      ports_[event.target].arbitrating = false;
      arbitrate(event.target);
      break;
    case EventKind::kInputFree:
      input_free(event.target);
      break;
    case EventKind::kCredit:
      on_credit(event.target);
      break;
    case EventKind::kCheck:
      check_deadlock();
      break;
    case EventKind::kReroute:
      reroute();
      break;
    case EventKind::kCard:
      on_card(event.target);
      break;
  }
}

// ---- the network -------------------------------------------------------------------------------

void Simulator::arrive(std::uint32_t port, std::uint32_t index) {
  Port& in = ports_[port];
  if (in.watched && (link_down(port) || lost_by_chance(port))) {
    lose(port, index);
    return;
  }
  ++hops_;
  if (in.to_host) {
    deliver(in.to, index);
    return;
  }
  SwitchState& node = switches_[in.to];
  Packet& packet = pool_[index];
  const std::uint32_t out = routes_.next(in.to, packet.destination, packet.flow);
  if (out == routing::kNoPort) {
    lose(port, index);
    return;
  }
  // A cut-through switch sees the head; the tail follows for as long as the frame takes.
  Picos tail = now_;
  if (in.cut_through) tail += frame_time(in, packet.bytes);
  if (!in.into_fifo && !ports_[out].with_fifo) {
    // Towards a faster link a frame waits until it can go on without a gap, and holds up nobody.
    const Picos ready = tail - frame_time(ports_[out], packet.bytes);
    if (ready > now_) {
      queue_.push(ready, EventKind::kReady, out, index);
    } else {
      forward(out, index, node);
    }
    return;
  }
  pool_.set_tail(index, tail);
  packet.in = port;
  packet.out = out;
  if (in.watched && in.into_fifo) count_watched(port);
  enqueue(in.into_fifo ? in.input_fifo : ports_[out].output_fifo, index);
}

// Forgets those that have started.
void Simulator::purge(Port& port) {
  std::uint32_t gone = 0;
  while (gone < port.ring_count && port.waiting(gone) <= now_) ++gone;
  port.ring_head = (port.ring_head + gone) & port.ring_mask;
  port.ring_count -= gone;
  if (port.pooled) switches_[port.from_switch].waiting -= gone;
}

void Simulator::ring_push(Port& port, Picos start) {
  if (port.ring_count > port.ring_mask) {
    const std::uint32_t length = 2 * (port.ring_mask + 1);
    auto larger = std::make_unique<Picos[]>(length);
    for (std::uint32_t i = 0; i < port.ring_count; ++i) larger[i] = port.waiting(i);
    port.ring = std::move(larger);
    port.ring_mask = length - 1;
    port.ring_head = 0;
  }
  port.waiting(port.ring_count++) = start;
  if (port.pooled) ++switches_[port.from_switch].waiting;
}

// `waiting` counts some that have left; only when that is too much it is looked at closely.
// Whether a shared pool takes no further packet for a queue of this length. Dynamic thresholds:
// length < alpha * (pool - all that wait), Choudhury and Hahne 1998, Eq 1.
bool Simulator::pool_refuses(SwitchState& node, std::uint32_t length) {
  if (node.pool == 0) return false;
  if (node.waiting < node.pool && node.alpha_millionths == 0) return false;
  for (const std::uint32_t port : node.ports) purge(ports_[port]);
  if (node.waiting >= node.pool) return true;
  if (node.alpha_millionths == 0) return false;
  constexpr std::uint64_t kMillion = 1000000;
  return length * kMillion >= node.alpha_millionths * (node.pool - node.waiting);
}

void Simulator::forward(std::uint32_t out, std::uint32_t index, SwitchState& node) {
  Port& port = ports_[out];
  if (port.ring_count > 0) purge(port);
  if (port.ring_count >= port.queue_limit || pool_refuses(node, port.ring_count)) {
    drop(out, index, false);
    return;
  }
  mark(out, index, port.ring_count);
  Picos earliest = now_;
  if (node.backplane_bit_s > 0) {
    earliest = std::max(earliest, node.backplane_until);
    node.backplane_until = earliest + serialization(pool_[index].bytes, node.backplane_bit_s);
  }
  send_ring(out, index, earliest);
}

void Simulator::send_ring(std::uint32_t out, std::uint32_t index, Picos earliest) {
  Port& port = ports_[out];
  const std::uint32_t bytes = pool_[index].bytes;
  const Picos frame = frame_time(port, bytes);
  const Picos start = std::max(earliest, port.busy_until);
  const Picos end = start + frame;
  port.busy_until = end;
  if (start > now_) ring_push(port, start);
  count_sent(out, bytes, frame, port.ring_count);
  if (trace_ != nullptr) trace_sent(out, index, now_, start, end, port.ring_count);
  push_arrival(out, index, (port.cut_through ? start : end) + port.latency);
}

Simulator::Waiting Simulator::waiting(std::uint32_t id) {
  Port& port = ports_[id];
  Waiting out;
  if (port.ring_count > 0) purge(port);
  out.packets = out.in_ring = port.ring_count;
  if (port.output_fifo != kNone) out.packets += fifos_[port.output_fifo].count;
  if (port.input_fifo != kNone) out.at_input = fifos_[port.input_fifo].count;
  if (port.busy_until > now_) {
    const auto left = static_cast<double>(port.busy_until - now_) / kPicosPerSecond;
    out.bytes = static_cast<std::uint64_t>(left * static_cast<double>(port.bit_s) / 8);
  }
  return out;
}

void Simulator::drop(std::uint32_t port, std::uint32_t index, bool at_input) {
  ++dropped_;
  ++(at_input ? stats_[port].input_dropped : stats_[port].dropped);
  if (trace_ != nullptr) {
    const Packet& packet = pool_[index];
    trace_->on({now_, now_, now_, port, packet.source, packet.destination, packet.bytes,
                packet.label, ports_[port].ring_count, TraceKind::kDropped});
  }
  program_->lost(index);
  pool_.give_back(index);
}

void Simulator::trace_sent(std::uint32_t port, std::uint32_t index, Picos queued, Picos start,
                           Picos end, std::uint32_t depth) {
  const Packet& packet = pool_[index];
  trace_->on({queued, start, end, port, packet.source, packet.destination, packet.bytes,
              packet.label, depth, TraceKind::kSent});
}

// ---- hosts -------------------------------------------------------------------------------------

// When the processor can take up something new, pauses included.
Picos Simulator::processor(HostState& host) {
  while (host.next_pause <= std::max(now_, host.free_at)) {
    const Picos begin = std::max(host.next_pause, host.free_at);
    host.free_at = begin + host.random.exponential(options_.pauses.mean);
    host.next_pause = host.free_at + host.random.exponential(options_.pauses.interval);
  }
  return std::max(now_, host.free_at);
}

void Simulator::deliver(std::uint32_t host, std::uint32_t index) {
  if (options_.card.half_duplex) {
    card_receive(host, index);
    return;
  }
  if (!costs_) {
    receive(host, index);
    return;
  }
  HostState& state = hosts_[host];
  const Picos done = processor(state) + costs_of(state).receive;
  state.free_at = done;
  if (done == now_) {
    receive(host, index);
  } else {
    queue_.push(done, EventKind::kDeliver, host, index);
  }
}

void Simulator::receive(std::uint32_t host, std::uint32_t index) {
  program_->receive(host, now_, index, pool_[index]);
  pool_.give_back(index);
  if (options_.card.packets > 0) give_credit(routing::reverse(hosts_[host].egress));
  pull(host);
}

// Whether the host's link takes another packet; if not, the host is called when half of its queue
// has drained, as a socket is.
bool Simulator::takes(HostState& host) {
  Port& port = ports_[host.egress];
  const std::uint32_t limit = options_.host_queue_packets;
  if (port.with_fifo) {
    // transmit() calls the host, if there is anything left to transmit.
    const std::uint32_t waiting = fifos_[port.output_fifo].count;
    if (waiting + (port.busy_until > now_ ? 1 : 0) < limit) return true;
    if (waiting == 0) {
      const auto index = static_cast<std::uint32_t>(&host - hosts_.data());
      queue_.push(port.busy_until, EventKind::kPull, index);
    }
    return false;
  }
  if (port.busy_until <= now_) return true;
  if (port.ring_count > 0) purge(port);
  const std::uint32_t queued = port.ring_count + 1;  // the one on the link included
  if (queued < limit) return true;
  // The j-th that waits starts when j of them have gone.
  const std::uint32_t leave = queued - limit / 2;
  const Picos when = leave == queued ? port.busy_until : port.waiting(leave - 1);
  queue_.push(when, EventKind::kPull, static_cast<std::uint32_t>(&host - hosts_.data()));
  return false;
}

void Simulator::pull(std::uint32_t host) {
  HostState& state = hosts_[host];
  if (state.pull_pending) return;
  const bool half_duplex = options_.card.half_duplex;
  for (;;) {
    if (half_duplex && !card_is_free(state)) return;  // it calls when it is
    if (costs_ && processor(state) > now_) {
      state.pull_pending = true;
      queue_.push(state.free_at, EventKind::kPull, host);
      return;
    }
    if (!takes(state)) {
      state.pull_pending = true;
      return;
    }
    const std::uint32_t index = pool_.take();
    Packet& packet = pool_[index];
    if (!program_->pull(host, now_, index, packet)) {
      pool_.give_back(index);
      break;
    }
    packet.source = host;
    packet.flow = enter(packet);
    if (half_duplex) {
      card_send(host, index);
      break;
    }
    inject(state, index);
  }
  rearm(host);
}

void Simulator::inject(HostState& host, std::uint32_t index) {
  Port& port = ports_[host.egress];
  Picos ready = now_;
  if (costs_) {
    const HostCosts& costs = costs_of(host);
    ready += costs.send;
    host.free_at = ready;
    // The gap is between starts: what waits in the queue keeps it among itself.
    ready = std::max(ready, port.gap_until);
    port.gap_until = std::max(ready, port.busy_until) + costs.gap;
  }
  put_on_link(host, index, ready);
}

void Simulator::put_on_link(HostState& host, std::uint32_t index, Picos ready) {
  Port& port = ports_[host.egress];
  if (!port.with_fifo) {
    send_ring(host.egress, index, ready);
    return;
  }
  Packet& packet = pool_[index];
  // Not on the link before `ready`.
  pool_.set_tail(index, ready + frame_time(port, packet.bytes));
  packet.in = kNone;
  packet.out = host.egress;
  enqueue(port.output_fifo, index);
}

void Simulator::on_timer(std::uint32_t host) {
  HostState& state = hosts_[host];
  if (now_ != state.timer_at) return;  // an earlier one was set meanwhile
  state.timer_at = kNever;
  if (program_->deadline(host) > now_) {
    rearm(host);
    return;
  }
  program_->timer(host, now_);
  pull(host);
}

// One event per host at most is of use; deadlines that move later cost nothing until it comes.
void Simulator::rearm(std::uint32_t host) {
  HostState& state = hosts_[host];
  Picos when = program_->deadline(host);
  if (when >= state.timer_at || when == kNever) return;
  when = std::max(when, now_ + 1);
  state.timer_at = when;
  queue_.push(when, EventKind::kTimer, host);
}

}  // namespace alm::sim
