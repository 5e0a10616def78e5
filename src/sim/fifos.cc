// Packets that wait for a port together with others: input buffers with head-of-line blocking,
// output queues and hosts under back-pressure, modules that serve two directions.
//
// The packet at the head of a fifo asks for its port; a port takes those that ask in the order they
// asked. An input buffer hands over one packet at a time, at the faster of the two link rates: a
// fast uplink reaches several slow ports before the first has finished. A port takes a packet when
// it has sent the one before, or while it holds less than Options::output_frames that wait. With
// none and equal links this is the textbook switch, one packet per slot.
#include "sim/fifos.h"

#include <algorithm>

namespace alm::sim {

void Fifos::enqueue(std::uint32_t fifo, std::uint32_t index) {
  Fifo& queue = net_.fifos[fifo];
  Packet& packet = net_.pool[index];
  const bool input = queue.in_port != kNone;
  const std::uint32_t at = input ? queue.in_port : packet.out;
  SwitchState* pooled = nullptr;
  if (!input && net_.ports[at].from_switch != kNone) {
    pooled = &net_.switches[net_.ports[at].from_switch];
  }
  if (queue.count >= queue.capacity ||
      (pooled != nullptr && net_.pool_refuses(*pooled, queue.count))) {
    net_.drop(at, index, input);
    return;
  }
  if (pooled != nullptr) ++pooled->waiting;
  if (!input && net_.ports[at].watched) net_.faults.count(at, net_.now);
  if (pooled != nullptr) net_.mark(at, index, queue.count);
  packet.next = kNone;
  if (queue.head == kNone) {
    queue.head = index;
  } else {
    net_.pool[queue.tail].next = index;
  }
  queue.tail = index;
  ++queue.count;
  if (queue.count == 1) {
    if (queue.busy_until > net_.now) {
      net_.queue.push(queue.busy_until, EventKind::kInputFree, fifo);
    } else {
      request(fifo);
    }
  }
  std::uint32_t& high_water =
      input ? net_.stats[at].input_high_water : net_.stats[at].queue_high_water;
  high_water = std::max(high_water, queue.count);
}

void Fifos::input_free(std::uint32_t fifo) {
  Fifo& queue = net_.fifos[fifo];
  if (queue.waiting || queue.head == kNone || queue.busy_until > net_.now) return;
  request(fifo);
}

void Fifos::request(std::uint32_t fifo) {
  Fifo& queue = net_.fifos[fifo];
  const std::uint32_t out = net_.pool[queue.head].out;
  Port& port = net_.ports[out];
  queue.waiting = true;
  queue.next_waiter = kNone;
  if (port.waiter_first == kNone) {
    port.waiter_first = fifo;
  } else {
    net_.fifos[port.waiter_last].next_waiter = fifo;
  }
  port.waiter_last = fifo;
  ++port.waiters;
  if (port.arbitrating || port.starved) return;
  arbitrate(out);
}

Picos Fifos::free_time(Port& port) {
  if (port.ring_count > 0) net_.purge(port);
  Picos when = port.accepts_at;
  if (port.output_frames > 0 && port.ring_count >= port.output_frames) {
    // A place is free when enough of those that wait have started.
    const std::uint32_t leave = port.ring_count - port.output_frames + 1;
    when = std::max(when, port.waiting(leave - 1));
  }
  if (port.module != kNone) when = std::max(when, net_.modules[port.module].busy_until);
  if (port.from_switch != kNone) {
    when = std::max(when, net_.switches[port.from_switch].backplane_until);
  }
  return when;
}

void Fifos::schedule_arbitrate(std::uint32_t port, Picos when) {
  net_.ports[port].arbitrating = true;
  net_.queue.push(when, EventKind::kArbitrate, port);
}

void Fifos::arbitrate(std::uint32_t out) {
  Port& port = net_.ports[out];
  while (port.waiter_first != kNone) {
    Picos when = free_time(port);
    if (port.watched) when = std::max(when, net_.faults.blocked_until(out, net_.now));
    if (when > net_.now) {
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
    Fifo& queue = net_.fifos[fifo];
    const Picos ready = queue.host == kNone ? net_.now
                                            : net_.pool.tail(queue.head) -
                                                  port.frame_time(net_.pool[queue.head].bytes);
    if (ready > net_.now) {  // a host that is still busy making it
      schedule_arbitrate(out, ready);
      return;
    }
    port.waiter_first = queue.next_waiter;
    --port.waiters;
    queue.waiting = false;
    if (queue.in_port != kNone && net_.ports[queue.in_port].watched) {
      const Picos blocked = net_.faults.blocked_until(queue.in_port, net_.now);
      if (blocked > net_.now) {
        queue.busy_until = blocked;
        net_.queue.push(blocked, EventKind::kInputFree, fifo);
        continue;
      }
    }
    transmit(out, fifo);
  }
}

void Fifos::transmit(std::uint32_t out, std::uint32_t fifo) {
  Port& port = net_.ports[out];
  Fifo& queue = net_.fifos[fifo];
  const std::uint32_t index = queue.head;
  Packet& packet = net_.pool[index];
  queue.head = packet.next;
  --queue.count;

  const Picos frame = port.frame_time(packet.bytes);
  const Picos tail = net_.pool.tail(index);
  const Picos start = std::max({net_.now, tail - frame, port.busy_until});
  const Picos end = start + frame;
  port.busy_until = end;
  // From an input buffer at the faster of the two rates.
  const Picos transfer = queue.in_port == kNone
                             ? frame
                             : std::min(frame, net_.ports[queue.in_port].frame_time(packet.bytes));
  port.accepts_at = port.output_frames > 0 ? net_.now : end;
  if (start > net_.now) net_.ring_push(port, start);
  if (port.module != kNone) {
    ModuleState& module = net_.modules[port.module];
    Picos cost = module.per_packet + module.per_waiting * static_cast<Picos>(port.waiters);
    if (module.both_ways_bit_s > 0) cost += serialization(packet.bytes, module.both_ways_bit_s);
    module.busy_until = std::max(module.busy_until, net_.now) + cost;
  }
  if (port.from_switch != kNone) {
    SwitchState& node = net_.switches[port.from_switch];
    if (queue.in_port == kNone) --node.waiting;
    if (node.backplane_bit_s > 0) {
      node.backplane_until = net_.now + serialization(packet.bytes, node.backplane_bit_s);
    }
  }
  if (port.credits != kNone) --port.credits;
  if (packet.in != kNone) net_.give_credit(packet.in);
  net_.stats[out].count_sent(packet.bytes, frame, 0);
  if (net_.trace != nullptr) {
    net_.trace_sent(out, index, std::min(tail, start), start, end, queue.count + 1);
  }
  net_.push_arrival(out, index, (port.cut_through ? start : end) + port.latency);

  if (queue.host != kNone && net_.hosts[queue.host].pull_pending &&
      queue.count < options_.host_queue_packets) {
    net_.queue.push(std::max(end, net_.now), EventKind::kPull, queue.host);
  }
  if (queue.in_port != kNone) {
    queue.busy_until = net_.now + transfer;
    if (queue.head != kNone) net_.queue.push(queue.busy_until, EventKind::kInputFree, fifo);
  } else if (queue.head != kNone) {
    // Last of those that ask; arbitrate() is under way.
    const bool was_arbitrating = port.arbitrating;
    port.arbitrating = true;
    request(fifo);
    port.arbitrating = was_arbitrating;
  }
}

void Fifos::on_credit(std::uint32_t port) {
  Port& granted = net_.ports[port];
  --granted.credits_coming;
  ++granted.credits;
  if (!granted.starved) return;
  granted.starved = false;
  --starved_;
  if (!granted.arbitrating) arbitrate(port);
}

}  // namespace alm::sim
