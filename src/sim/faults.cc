// Scripted faults: links that are down or lossy, ports that are blocked.
#include <algorithm>

#include "sim/random.h"
#include "sim/simulator.h"

namespace alm::sim {

bool Simulator::link_down(std::uint32_t port) const {
  return std::any_of(watches_.begin(), watches_.end(), [&](const Watch& watch) {
    const Fault& fault = watch.fault;
    return fault.kind == Fault::Kind::kLinkDown && fault.port / 2 == port / 2 &&
           now_ >= fault.start && (fault.duration == 0 || now_ - fault.start < fault.duration);
  });
}

// Each packet by its number on the link: what happens elsewhere changes nothing.
bool Simulator::lost_by_chance(std::uint32_t port) {
  bool lost = false;
  for (Watch& watch : watches_) {
    const Fault& fault = watch.fault;
    if (fault.kind != Fault::Kind::kLossyLink || fault.port / 2 != port / 2) continue;
    if (now_ < fault.start || (fault.duration != 0 && now_ - fault.start >= fault.duration)) {
      continue;
    }
    constexpr double kAll = 18446744073709551616.0;  // 2^64
    const std::uint64_t drawn = Random(mix(fault.seed) + ++watch.seen).next();
    lost = lost || static_cast<double>(drawn) < fault.part * kAll;
  }
  return lost;
}

void Simulator::lose(std::uint32_t port, std::uint32_t index) {
  ++dropped_;
  ++stats_[port].dropped;
  ++stats_[port].lost;
  if (trace_ != nullptr) {
    const Packet& packet = pool_[index];
    trace_->on({now_, now_, now_, port, packet.source, packet.destination, packet.bytes,
                packet.label, 0, TraceKind::kLost});
  }
  if (ports_[port].credits != kNone) give_credit(port);
  program_->lost(index);
  pool_.give_back(index);
}

void Simulator::set_condition(std::uint32_t link, const Condition& condition) {
  const std::uint32_t up = routing::up_port(link), down = routing::down_port(link);
  std::erase_if(watches_, [&](const Watch& watch) {
    const Fault::Kind kind = watch.fault.kind;
    return (kind == Fault::Kind::kLinkDown || kind == Fault::Kind::kLossyLink) &&
           watch.fault.port / 2 == link;
  });
  if (condition.loss > 0) {
    Fault fault{.kind = condition.loss < 1 ? Fault::Kind::kLossyLink : Fault::Kind::kLinkDown,
                .port = up,
                .start = now_,
                .part = condition.loss,
                .seed = options_.seed + link};
    watches_.push_back({fault, 0});
  }
  for (const std::uint32_t id : {up, down}) {
    Port& port = ports_[id];
    // What is on the link, or waits in a ring, keeps the time that it was given.
    const auto bit_s = static_cast<double>(port.built_bit_s) * condition.rate;
    port.bit_s = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(bit_s));
    port.cached_bytes = 0;
    port.watched = std::any_of(watches_.begin(), watches_.end(), [&](const Watch& watch) {
      return watch.fault.kind == Fault::Kind::kBlockPort ? watch.fault.port == id
                                                         : watch.fault.port / 2 == link;
    });
  }
}

// Blocks that begin with the n-th packet.
void Simulator::count_watched(std::uint32_t port) {
  for (Watch& watch : watches_) {
    Fault& fault = watch.fault;
    if (fault.kind != Fault::Kind::kBlockPort || fault.port != port || fault.after_packets == 0) {
      continue;
    }
    if (++watch.seen == fault.after_packets) fault.start = now_;
  }
}

Picos Simulator::blocked_until(std::uint32_t port) const {
  Picos until = 0;
  for (const Watch& watch : watches_) {
    const Fault& fault = watch.fault;
    if (fault.kind != Fault::Kind::kBlockPort || fault.port != port) continue;
    if (now_ >= fault.start && now_ - fault.start < fault.duration) {
      until = std::max(until, fault.start + fault.duration);
    }
  }
  return until;
}

}  // namespace alm::sim
