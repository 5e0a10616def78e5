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
  if (trace_ != nullptr) {
    const Packet& packet = pool_[index];
    trace_->on({now_, now_, now_, port, packet.source, packet.destination, packet.bytes,
                packet.label, 0, TraceKind::kLost});
  }
  if (ports_[port].credits != kNone) give_credit(port);
  pool_.give_back(index);
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
