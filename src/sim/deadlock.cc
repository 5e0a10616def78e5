// Ports without credit that wait for each other: nothing will ever move them.
//
// A port without credit waits for any of the packets in the buffer it leads to: that at the head of
// an input buffer, or any of those it brought to the output queues of other switches. It is alive
// if credit is on its way or one of those packets wants a port that is alive. What is not alive
// when nothing more can be found to be is a deadlock.
#include <algorithm>

#include "sim/fifos.h"

namespace alm::sim {
namespace {

constexpr Picos kCheckEvery = kPicosPerSecond / 1000;

}  // namespace

void Fifos::watch_for_deadlock() {
  if (checking_) return;
  checking_ = true;
  net_.queue.push(net_.now + kCheckEvery, EventKind::kCheck, 0);
}

std::vector<std::uint32_t> Fifos::awaited(std::uint32_t port) const {
  const Port& starved = net_.ports[port];
  std::vector<std::uint32_t> out;
  if (starved.to_host) return out;  // hosts take what comes, sooner or later
  if (starved.input_fifo != kNone) {
    const Fifo& queue = net_.fifos[starved.input_fifo];
    if (queue.head != kNone) out.push_back(net_.pool[queue.head].out);
    return out;
  }
  for (const std::uint32_t next : net_.switches[starved.to].ports) {
    if (net_.ports[next].output_fifo == kNone) continue;
    for (std::uint32_t index = net_.fifos[net_.ports[next].output_fifo].head; index != kNone;
         index = net_.pool[index].next) {
      if (net_.pool[index].in != port) continue;
      out.push_back(next);
      break;
    }
  }
  return out;
}

void Fifos::check_deadlock() {
  checking_ = false;
  if (starved_ == 0) return;
  std::vector<bool> dead(net_.ports.size());
  std::vector<std::uint32_t> suspects;
  for (std::uint32_t port = 0; port < net_.ports.size(); ++port) {
    if (!net_.ports[port].starved || net_.ports[port].credits_coming > 0) continue;
    dead[port] = true;
    suspects.push_back(port);
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (const std::uint32_t port : suspects) {
      if (!dead[port]) continue;
      const auto next = awaited(port);
      if (!next.empty() && std::all_of(next.begin(), next.end(), [&](auto p) { return dead[p]; })) {
        continue;
      }
      dead[port] = false;
      changed = true;
    }
  }
  const auto first =
      std::find_if(suspects.begin(), suspects.end(), [&](auto port) { return dead[port]; });
  if (first == suspects.end()) {
    watch_for_deadlock();
    return;
  }
  // Each waits for one that is dead too: following them comes back to one seen before.
  std::vector<std::uint32_t> trail{*first};
  for (;;) {
    const std::uint32_t next = awaited(trail.back()).front();
    const auto seen = std::find(trail.begin(), trail.end(), next);
    if (seen != trail.end()) {
      deadlock_.assign(seen, trail.end());
      return;
    }
    trail.push_back(next);
  }
}

}  // namespace alm::sim
