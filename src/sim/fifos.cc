// Packets that wait for a port together with others: input buffers with head-of-line blocking,
// output queues and hosts under back-pressure, modules that serve two directions.
//
// The packet at the head of a fifo asks for its port; a port takes those that ask in the order they
// asked. An input buffer hands over one packet at a time, at the faster of the two link rates: a
// fast uplink reaches several slow ports before the first has finished. A port takes a packet when
// it has sent the one before, or while it holds less than Options::output_frames that wait. With
// none and equal links this is the textbook switch, one packet per slot.
#include <algorithm>
#include <cassert>

#include "sim/simulator.h"

namespace alm::sim {

void Simulator::enqueue(std::uint32_t fifo, std::uint32_t index) {
  Fifo& queue = fifos_[fifo];
  Packet& packet = pool_[index];
  const bool input = queue.in_port != kNone;
  const std::uint32_t at = input ? queue.in_port : packet.out;
  SwitchState* pooled = nullptr;
  if (!input && ports_[at].from_switch != kNone) pooled = &switches_[ports_[at].from_switch];
  if (queue.count >= queue.capacity || (pooled != nullptr && pool_refuses(*pooled, queue.count))) {
    drop(at, index, input);
    return;
  }
  if (pooled != nullptr) ++pooled->waiting;
  if (!input && ports_[at].watched) count_watched(at);
  if (pooled != nullptr) mark(at, index, queue.count);
  packet.next = kNone;
  if (queue.head == kNone) {
    queue.head = index;
  } else {
    pool_[queue.tail].next = index;
  }
  queue.tail = index;
  ++queue.count;
  if (queue.count == 1) {
    if (queue.busy_until > now_) {
      queue_.push(queue.busy_until, EventKind::kInputFree, fifo);
    } else {
      request(fifo);
    }
  }
  std::uint32_t& high_water = input ? stats_[at].input_high_water : stats_[at].queue_high_water;
  high_water = std::max(high_water, queue.count);
}

void Simulator::input_free(std::uint32_t fifo) {
  Fifo& queue = fifos_[fifo];
  if (queue.waiting || queue.head == kNone || queue.busy_until > now_) return;
  request(fifo);
}

void Simulator::request(std::uint32_t fifo) {
  Fifo& queue = fifos_[fifo];
  const std::uint32_t out = pool_[queue.head].out;
  Port& port = ports_[out];
  queue.waiting = true;
  queue.next_waiter = kNone;
  if (port.waiter_first == kNone) {
    port.waiter_first = fifo;
  } else {
    fifos_[port.waiter_last].next_waiter = fifo;
  }
  port.waiter_last = fifo;
  ++port.waiters;
  if (port.arbitrating || port.starved) return;
  arbitrate(out);
}

Picos Simulator::free_time(Port& port) {
  if (port.ring_count > 0) purge(port);
  Picos when = port.accepts_at;
  if (port.output_frames > 0 && port.ring_count >= port.output_frames) {
    // A place is free when enough of those that wait have started.
    const std::uint32_t leave = port.ring_count - port.output_frames + 1;
    when = std::max(when, port.waiting(leave - 1));
  }
  if (port.module != kNone) when = std::max(when, modules_[port.module].busy_until);
  if (port.from_switch != kNone) {
    when = std::max(when, switches_[port.from_switch].backplane_until);
  }
  return when;
}

void Simulator::schedule_arbitrate(std::uint32_t port, Picos when) {
  ports_[port].arbitrating = true;
  queue_.push(when, EventKind::kArbitrate, port);
}

void Simulator::arbitrate(std::uint32_t out) {
  Port& port = ports_[out];
  while (port.waiter_first != kNone) {
    Picos when = free_time(port);
    if (port.watched) when = std::max(when, blocked_until(out));
    if (when > now_) {
      schedule_arbitrate(out, when);
      return;
    }
    if (port.credits == 0) {
      port.starved = true;
      ++starved_;
      watch_for_deadlock();
      return;
    }
    const std::uint32_t fifo = port.waiter_first;
    Fifo& queue = fifos_[fifo];
    const Picos ready = queue.host == kNone
                            ? now_
                            : pool_.tail(queue.head) - frame_time(port, pool_[queue.head].bytes);
    if (ready > now_) {  // a host that is still busy making it
      schedule_arbitrate(out, ready);
      return;
    }
    port.waiter_first = queue.next_waiter;
    --port.waiters;
    queue.waiting = false;
    if (queue.in_port != kNone && ports_[queue.in_port].watched) {
      const Picos blocked = blocked_until(queue.in_port);
      if (blocked > now_) {
        queue.busy_until = blocked;
        queue_.push(blocked, EventKind::kInputFree, fifo);
        continue;
      }
    }
    transmit(out, fifo);
  }
}

void Simulator::transmit(std::uint32_t out, std::uint32_t fifo) {
  Port& port = ports_[out];
  Fifo& queue = fifos_[fifo];
  const std::uint32_t index = queue.head;
  Packet& packet = pool_[index];
  queue.head = packet.next;
  --queue.count;

  const Picos frame = frame_time(port, packet.bytes);
  const Picos tail = pool_.tail(index);
  const Picos start = std::max({now_, tail - frame, port.busy_until});
  const Picos end = start + frame;
  port.busy_until = end;
  // From an input buffer at the faster of the two rates.
  const Picos transfer = queue.in_port == kNone
                             ? frame
                             : std::min(frame, frame_time(ports_[queue.in_port], packet.bytes));
  port.accepts_at = port.output_frames > 0 ? now_ : end;
  if (start > now_) ring_push(port, start);
  if (port.module != kNone) {
    ModuleState& module = modules_[port.module];
    Picos cost = module.per_packet + module.per_waiting * static_cast<Picos>(port.waiters);
    if (module.both_ways_bit_s > 0) cost += serialization(packet.bytes, module.both_ways_bit_s);
    module.busy_until = std::max(module.busy_until, now_) + cost;
  }
  if (port.from_switch != kNone) {
    SwitchState& node = switches_[port.from_switch];
    if (queue.in_port == kNone) --node.waiting;
    if (node.backplane_bit_s > 0) {
      node.backplane_until = now_ + serialization(packet.bytes, node.backplane_bit_s);
    }
  }
  if (port.credits != kNone) --port.credits;
  if (packet.in != kNone) give_credit(packet.in);
  count_sent(out, packet.bytes, frame, 0);
  if (trace_ != nullptr) trace_sent(out, index, std::min(tail, start), start, end, queue.count + 1);
  push_arrival(out, index, (port.cut_through ? start : end) + port.latency);

  if (queue.host != kNone && hosts_[queue.host].pull_pending &&
      queue.count < options_.host_queue_packets) {
    queue_.push(std::max(end, now_), EventKind::kPull, queue.host);
  }
  if (queue.in_port != kNone) {
    queue.busy_until = now_ + transfer;
    if (queue.head != kNone) queue_.push(queue.busy_until, EventKind::kInputFree, fifo);
  } else if (queue.head != kNone) {
    // Last of those that ask; arbitrate() is under way.
    const bool was_arbitrating = port.arbitrating;
    port.arbitrating = true;
    request(fifo);
    port.arbitrating = was_arbitrating;
  }
}

void Simulator::give_credit(std::uint32_t port) {
  if (ports_[port].credits == kNone) return;
  ++ports_[port].credits_coming;
  queue_.push(now_ + ports_[port].latency, EventKind::kCredit, port);
}

void Simulator::on_credit(std::uint32_t port) {
  Port& granted = ports_[port];
  --granted.credits_coming;
  ++granted.credits;
  if (!granted.starved) return;
  granted.starved = false;
  --starved_;
  if (!granted.arbitrating) arbitrate(port);
}

}  // namespace alm::sim
