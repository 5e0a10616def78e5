#include "sim/network_state.h"

#include "routing/routes.h"

namespace alm::sim {

void NetworkState::lengthen_ring(Port& port) {
  const std::uint32_t length = 2 * (port.ring_mask + 1);
  auto larger = std::make_unique<Picos[]>(length);
  for (std::uint32_t i = 0; i < port.ring_count; ++i) larger[i] = port.waiting(i);
  port.ring = std::move(larger);
  port.ring_mask = length - 1;
  port.ring_head = 0;
}

// `waiting` counts some that have left; only when that is too much it is looked at closely.
// Dynamic thresholds: length < alpha * (pool - all that wait), Choudhury and Hahne 1998, Eq 1.
bool NetworkState::shared_pool_refuses(SwitchState& node, std::uint32_t length) {
  if (node.waiting < node.pool && node.alpha_millionths == 0) return false;
  for (const std::uint32_t port : node.ports) purge(ports[port]);
  if (node.waiting >= node.pool) return true;
  if (node.alpha_millionths == 0) return false;
  constexpr std::uint64_t kMillion = 1000000;
  return length * kMillion >= node.alpha_millionths * (node.pool - node.waiting);
}

void NetworkState::drop(std::uint32_t port, std::uint32_t index, bool at_input) {
  ++dropped;
  ++(at_input ? stats[port].input_dropped : stats[port].dropped);
  if (trace != nullptr) {
    const Packet& packet = pool[index];
    trace->on({now, now, now, port, packet.source, packet.destination, packet.bytes, packet.label,
               ports[port].ring_count, TraceKind::kDropped});
  }
  program->lost(index);
  pool.give_back(index);
}

void NetworkState::trace_sent(std::uint32_t port, std::uint32_t index, Picos queued, Picos start,
                              Picos end, std::uint32_t depth) {
  const Packet& packet = pool[index];
  trace->on({queued, start, end, port, packet.source, packet.destination, packet.bytes,
             packet.label, depth, TraceKind::kSent});
}

void NetworkState::lose(std::uint32_t port, std::uint32_t index) {
  ++dropped;
  ++stats[port].dropped;
  ++stats[port].lost;
  if (trace != nullptr) {
    const Packet& packet = pool[index];
    trace->on({now, now, now, port, packet.source, packet.destination, packet.bytes, packet.label,
               0, TraceKind::kLost});
  }
  if (ports[port].credits != kNone) give_credit(port);
  program->lost(index);
  pool.give_back(index);
}

std::uint32_t NetworkState::load_of(std::uint32_t id) {
  Port& port = ports[id];
  std::uint32_t load = port.busy_until > now ? 1 : 0;
  if (!port.with_fifo) {
    purge(port);
    return load + port.ring_count;
  }
  load += port.waiters;
  if (port.output_fifo != kNone) load += fifos[port.output_fifo].count;
  if (port.credits != kNone) load += ports[routing::reverse(id)].queue_limit - port.credits;
  return load;
}

Waiting NetworkState::waiting(std::uint32_t id) {
  Port& port = ports[id];
  Waiting out;
  if (port.ring_count > 0) purge(port);
  out.packets = out.in_ring = port.ring_count;
  if (port.output_fifo != kNone) out.packets += fifos[port.output_fifo].count;
  if (port.input_fifo != kNone) out.at_input = fifos[port.input_fifo].count;
  if (port.busy_until > now) {
    const auto left = static_cast<double>(port.busy_until - now) / kPicosPerSecond;
    out.bytes = static_cast<std::uint64_t>(left * static_cast<double>(port.bit_s) / 8);
  }
  return out;
}

std::size_t NetworkState::bytes() const {
  std::size_t rings = 0;
  for (const Port& port : ports) rings += (port.ring_mask + 1) * sizeof(Picos);
  return queue.bytes() + pool.bytes() + rings + ports.capacity() * sizeof(Port) +
         fifos.capacity() * sizeof(Fifo) + hosts.capacity() * sizeof(HostState) +
         stats.capacity() * sizeof(PortStats);
}

}  // namespace alm::sim
