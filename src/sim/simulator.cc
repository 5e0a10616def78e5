// The event loop, and hosts.
#include "sim/simulator.h"

#include <algorithm>
#include <optional>

namespace alm::sim {
namespace {

constexpr std::uint64_t kProgressEvery = 1 << 17;

}  // namespace

void Simulator::begin(Program& program) {
  net_.program = &program;
  looks_ahead_ = program.outgrows_cache();
  for (std::uint32_t host = 0; host < net_.hosts.size(); ++host) pull(host);
}

void Simulator::advance(Picos until) {
  while (net_.queue.next_time() <= until) {
    const Event event = net_.queue.pop();
    net_.now = event.time;
    handle(event);
  }
  net_.now = std::max(net_.now, until);
}

Outcome Simulator::run(Program& program) {
  begin(program);
  std::uint64_t next_progress = kProgressEvery;
  while (!program.done()) {
    if (net_.queue.empty()) return Outcome::kIdle;
    if (looks_ahead_) look_ahead();
    const Event event = net_.queue.pop();
    net_.now = event.time;
    handle(event);
    if (program.take_wake()) {
      for (std::uint32_t host = 0; host < net_.hosts.size(); ++host) pull(host);
    }
    if (event.kind == EventKind::kCheck && !fifos_.deadlock().empty()) return Outcome::kDeadlock;
    if (net_.now > options_.time_max) return Outcome::kTimeLimit;
    if (net_.queue.popped() < next_progress) continue;
    next_progress += kProgressEvery;
    if (options_.progress && !options_.progress()) return Outcome::kStopped;
    if (net_.queue.popped() >= options_.events_max) return Outcome::kEventLimit;
  }
  return Outcome::kDone;
}

// With many hosts hardly anything that an event touches is in the processor's cache: it is fetched
// while other events are handled.
void Simulator::look_ahead() {
  constexpr std::size_t kFar = 20, kNearer = 13, kNext = 6;  // events
  if (const auto* item = net_.queue.peek(kFar)) {
    const Event event = EventQueue::event_of(*item);
    if (event.kind == EventKind::kArrive) {
      __builtin_prefetch(&net_.ports[event.target]);
      __builtin_prefetch(&net_.pool[event.packet]);
      net_.program->expect(event.packet, Nearness::kFar);
    }
  }
  if (const auto* item = net_.queue.peek(kNearer)) {
    const Event event = EventQueue::event_of(*item);
    if (event.kind == EventKind::kArrive) {
      const Port& port = net_.ports[event.target];
      if (port.to_host) {
        net_.program->expect(event.packet, Nearness::kNearer);
      } else {
        routes_.prefetch(port.to, net_.pool[event.packet].destination);
      }
    }
  }
  if (const auto* item = net_.queue.peek(kNext)) {
    const Event event = EventQueue::event_of(*item);
    if (event.kind == EventKind::kPull) net_.program->expect_pull(event.target);
    if (event.kind != EventKind::kArrive) return;
    const Port& port = net_.ports[event.target];
    if (port.to_host) {
      net_.program->expect(event.packet, Nearness::kNext);
      return;
    }
    std::uint32_t flow = net_.pool[event.packet].flow;
    const std::uint32_t out = routes_.next(port.to, net_.pool[event.packet].destination, flow);
    if (out == routing::kNoPort) return;
    __builtin_prefetch(&net_.ports[out]);
    __builtin_prefetch(&net_.stats[out]);
  }
}

void Simulator::handle(const Event& event) {
  switch (event.kind) {
    case EventKind::kArrive:
      arrive(event.target, event.packet);
      break;
    case EventKind::kReady:
      net_.forward(event.target, event.packet, net_.switches[net_.ports[event.target].from_switch]);
      break;
    case EventKind::kPull:
      net_.hosts[event.target].pull_pending = false;
      pull(event.target);
      break;
    case EventKind::kTimer:
      on_timer(event.target);
      break;
    case EventKind::kDeliver:
      receive(event.target, event.packet);
      break;
    case EventKind::kArbitrate:
      net_.ports[event.target].arbitrating = false;
      fifos_.arbitrate(event.target);
      break;
    case EventKind::kInputFree:
      fifos_.input_free(event.target);
      break;
    case EventKind::kCredit:
      fifos_.on_credit(event.target);
      break;
    case EventKind::kCheck:
      fifos_.check_deadlock();
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
  Port& in = net_.ports[port];
  if (in.watched && (net_.faults.link_down(port, net_.now) || net_.faults.loses(port, net_.now))) {
    net_.lose(port, index);
    return;
  }
  ++hops_;
  if (in.to_host) {
    deliver(in.to, index);
    return;
  }
  SwitchState& node = net_.switches[in.to];
  Packet& packet = net_.pool[index];
  const std::uint32_t out = routes_.next(in.to, packet.destination, packet.flow);
  if (out == routing::kNoPort) {
    net_.lose(port, index);
    return;
  }
  // A cut-through switch sees the head; the tail follows for as long as the frame takes.
  Picos tail = net_.now;
  if (in.cut_through) tail += in.frame_time(packet.bytes);
  if (!in.into_fifo && !net_.ports[out].with_fifo) {
    // Towards a faster link a frame waits until it can go on without a gap, and holds up nobody.
    const Picos ready = tail - net_.ports[out].frame_time(packet.bytes);
    if (ready > net_.now) {
      net_.queue.push(ready, EventKind::kReady, out, index);
    } else {
      net_.forward(out, index, node);
    }
    return;
  }
  net_.pool.set_tail(index, tail);
  packet.in = port;
  packet.out = out;
  if (in.watched && in.into_fifo) net_.faults.count(port, net_.now);
  fifos_.enqueue(in.into_fifo ? in.input_fifo : net_.ports[out].output_fifo, index);
}

void Simulator::set_condition(std::uint32_t link, const Condition& condition) {
  const std::uint32_t up = routing::up_port(link), down = routing::down_port(link);
  std::optional<Fault> fault;
  if (condition.loss > 0) {
    fault = Fault{.kind = condition.loss < 1 ? Fault::Kind::kLossyLink : Fault::Kind::kLinkDown,
                  .port = up,
                  .start = net_.now,
                  .part = condition.loss,
                  .seed = options_.seed + link};
  }
  net_.faults.replace(link, fault);
  for (const std::uint32_t id : {up, down}) {
    Port& port = net_.ports[id];
    // What is on the link, or waits in a ring, keeps the time that it was given.
    const auto bit_s = static_cast<double>(port.built_bit_s) * condition.rate;
    port.bit_s = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(bit_s));
    port.cached_bytes = 0;
    port.watched = net_.faults.concern(id);
  }
}

// ---- hosts -------------------------------------------------------------------------------------

// When the processor can take up something new, pauses included.
Picos Simulator::processor(HostState& host) {
  while (host.next_pause <= std::max(net_.now, host.free_at)) {
    const Picos begin = std::max(host.next_pause, host.free_at);
    host.free_at = begin + host.random.exponential(options_.pauses.mean);
    host.next_pause = host.free_at + host.random.exponential(options_.pauses.interval);
  }
  return std::max(net_.now, host.free_at);
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
  HostState& state = net_.hosts[host];
  const Picos done = processor(state) + state.costs_at(net_.now).receive;
  state.free_at = done;
  if (done == net_.now) {
    receive(host, index);
  } else {
    net_.queue.push(done, EventKind::kDeliver, host, index);
  }
}

void Simulator::receive(std::uint32_t host, std::uint32_t index) {
  net_.program->receive(host, net_.now, index, net_.pool[index]);
  net_.pool.give_back(index);
  if (options_.card.packets > 0) net_.give_credit(routing::reverse(net_.hosts[host].egress));
  pull(host);
}

// Whether the host's link takes another packet; if not, the host is called when half of its queue
// has drained, as a socket is.
bool Simulator::takes(HostState& host) {
  Port& port = net_.ports[host.egress];
  const std::uint32_t limit = options_.host_queue_packets;
  if (port.with_fifo) {
    // transmit() calls the host, if there is anything left to transmit.
    const std::uint32_t waiting = net_.fifos[port.output_fifo].count;
    if (waiting + (port.busy_until > net_.now ? 1 : 0) < limit) return true;
    if (waiting == 0) {
      const auto index = static_cast<std::uint32_t>(&host - net_.hosts.data());
      net_.queue.push(port.busy_until, EventKind::kPull, index);
    }
    return false;
  }
  if (port.busy_until <= net_.now) return true;
  if (port.ring_count > 0) net_.purge(port);
  const std::uint32_t queued = port.ring_count + 1;  // the one on the link included
  if (queued < limit) return true;
  // The j-th that waits starts when j of them have gone.
  const std::uint32_t leave = queued - limit / 2;
  const Picos when = leave == queued ? port.busy_until : port.waiting(leave - 1);
  net_.queue.push(when, EventKind::kPull, static_cast<std::uint32_t>(&host - net_.hosts.data()));
  return false;
}

void Simulator::pull(std::uint32_t host) {
  HostState& state = net_.hosts[host];
  if (state.pull_pending) return;
  const bool half_duplex = options_.card.half_duplex;
  for (;;) {
    if (half_duplex && !card_is_free(state)) return;  // it calls when it is
    if (costs_ && processor(state) > net_.now) {
      state.pull_pending = true;
      net_.queue.push(state.free_at, EventKind::kPull, host);
      return;
    }
    if (!takes(state)) {
      state.pull_pending = true;
      return;
    }
    const std::uint32_t index = net_.pool.take();
    Packet& packet = net_.pool[index];
    if (!net_.program->pull(host, net_.now, index, packet)) {
      net_.pool.give_back(index);
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
  Port& port = net_.ports[host.egress];
  Picos ready = net_.now;
  if (costs_) {
    const HostCosts& costs = host.costs_at(net_.now);
    ready += costs.send;
    host.free_at = ready;
    // The gap is between starts: what waits in the queue keeps it among itself.
    ready = std::max(ready, port.gap_until);
    port.gap_until = std::max(ready, port.busy_until) + costs.gap;
  }
  put_on_link(host, index, ready);
}

void Simulator::put_on_link(HostState& host, std::uint32_t index, Picos ready) {
  Port& port = net_.ports[host.egress];
  if (!port.with_fifo) {
    net_.send_ring(host.egress, index, ready);
    return;
  }
  Packet& packet = net_.pool[index];
  // Not on the link before `ready`.
  net_.pool.set_tail(index, ready + port.frame_time(packet.bytes));
  packet.in = kNone;
  packet.out = host.egress;
  fifos_.enqueue(port.output_fifo, index);
}

void Simulator::on_timer(std::uint32_t host) {
  HostState& state = net_.hosts[host];
  if (net_.now != state.timer_at) return;  // an earlier one was set meanwhile
  state.timer_at = kNever;
  if (net_.program->deadline(host) > net_.now) {
    rearm(host);
    return;
  }
  net_.program->timer(host, net_.now);
  pull(host);
}

// One event per host at most is of use; deadlines that move later cost nothing until it comes.
void Simulator::rearm(std::uint32_t host) {
  HostState& state = net_.hosts[host];
  Picos when = net_.program->deadline(host);
  if (when >= state.timer_at || when == kNever) return;
  when = std::max(when, net_.now + 1);
  state.timer_at = when;
  net_.queue.push(when, EventKind::kTimer, host);
}

}  // namespace alm::sim
