// Scripted faults: links that are down or lossy, ports that are blocked.
#include "sim/faults.h"

#include <algorithm>

#include "sim/random.h"

namespace alm::sim {

bool Faults::link_down(std::uint32_t port, Picos now) const {
  return std::any_of(watches_.begin(), watches_.end(), [&](const Watch& watch) {
    const Fault& fault = watch.fault;
    return fault.kind == Fault::Kind::kLinkDown && fault.port / 2 == port / 2 &&
           now >= fault.start && (fault.duration == 0 || now - fault.start < fault.duration);
  });
}

// Each packet by its number on the link: what happens elsewhere changes nothing.
bool Faults::loses(std::uint32_t port, Picos now) {
  bool lost = false;
  for (Watch& watch : watches_) {
    const Fault& fault = watch.fault;
    if (fault.kind != Fault::Kind::kLossyLink || fault.port / 2 != port / 2) continue;
    if (now < fault.start || (fault.duration != 0 && now - fault.start >= fault.duration)) {
      continue;
    }
    constexpr double kAll = 18446744073709551616.0;  // 2^64
    const std::uint64_t drawn = Random(mix(fault.seed) + ++watch.seen).next();
    lost = lost || static_cast<double>(drawn) < fault.part * kAll;
  }
  return lost;
}

// Blocks that begin with the n-th packet.
void Faults::count(std::uint32_t port, Picos now) {
  for (Watch& watch : watches_) {
    Fault& fault = watch.fault;
    if (fault.kind != Fault::Kind::kBlockPort || fault.port != port || fault.after_packets == 0) {
      continue;
    }
    if (++watch.seen == fault.after_packets) fault.start = now;
  }
}

Picos Faults::blocked_until(std::uint32_t port, Picos now) const {
  Picos until = 0;
  for (const Watch& watch : watches_) {
    const Fault& fault = watch.fault;
    if (fault.kind != Fault::Kind::kBlockPort || fault.port != port) continue;
    if (now >= fault.start && now - fault.start < fault.duration) {
      until = std::max(until, fault.start + fault.duration);
    }
  }
  return until;
}

void Faults::replace(std::uint32_t link, const std::optional<Fault>& fault) {
  std::erase_if(watches_, [&](const Watch& watch) {
    const Fault::Kind kind = watch.fault.kind;
    return (kind == Fault::Kind::kLinkDown || kind == Fault::Kind::kLossyLink) &&
           watch.fault.port / 2 == link;
  });
  if (fault) add(*fault);
}

bool Faults::concern(std::uint32_t port) const {
  return std::any_of(watches_.begin(), watches_.end(), [&](const Watch& watch) {
    return watch.fault.kind == Fault::Kind::kBlockPort ? watch.fault.port == port
                                                       : watch.fault.port / 2 == port / 2;
  });
}

std::vector<bool> Faults::links_down(std::size_t links, Picos at) const {
  std::vector<bool> down(links);
  for (const Watch& watch : watches_) {
    const Fault& fault = watch.fault;
    if (fault.kind != Fault::Kind::kLinkDown) continue;
    if (at < fault.start || (fault.duration > 0 && at - fault.start >= fault.duration)) continue;
    down[fault.port / 2] = true;
  }
  return down;
}

}  // namespace alm::sim
