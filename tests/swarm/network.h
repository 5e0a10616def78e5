// A seeded network of ranks for tests: virtual time, datagrams dropped, duplicated, reordered,
// delayed and corrupted, or queued behind one another at rate-limited ports.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <queue>
#include <random>
#include <span>
#include <vector>

#include "base/time.h"
#include "transport/channel.h"

namespace alm::swarm {

using transport::PeerId;

struct Faults {
  double drop = 0, duplicate = 0, reorder = 0, corrupt = 0;
  base::Nanos delay = 10 * base::kMicrosecond;  // one way
  base::Nanos delay_spread = 0;                 // reordered datagrams wait up to this longer
  std::vector<base::Nanos> path_delay;          // by path, on top; empty: no path takes longer
  std::optional<std::uint8_t> dead_path;        // carries nothing from `dead_from` on
  base::Nanos dead_from = 0, dead_until = base::kNever;
};

// Something on the way to one rank: bytes, or header fields alone.
template <class Packet>
struct Arrival {
  base::Nanos when;
  std::uint64_t sequence;  // total order among equal times
  PeerId to;
  bool at_port;  // still to pass the rate-limited port of the switch
  Packet packet;
  friend bool operator>(const Arrival& a, const Arrival& b) {
    return a.when != b.when ? a.when > b.when : a.sequence > b.sequence;
  }
};

// The non-blocking switch of the papers: one packet per packet time leaves a host, and one reaches
// it. port_queue packets wait at the port to a host, the rest is dropped; 0: no rate limit at all.
template <class Packet>
class Network {
 public:
  using Arrived = Arrival<Packet>;

  Network(PeerId ranks, const Faults& faults, base::Nanos packet_time, std::uint32_t port_queue,
          std::uint64_t seed)
      : faults_(faults),
        packet_time_(packet_time),
        port_queue_(port_queue),
        random_(seed),
        egress_free_(ranks, 0),
        port_free_(ranks, 0) {}

  // The host's own queue is at most two packets long: back-pressure, as a small socket buffer
  // gives.
  bool takes(base::Nanos now, PeerId from) const {
    return port_queue_ == 0 || egress_free_[from] <= now + packet_time_;
  }
  base::Nanos takes_at(PeerId from) const { return egress_free_[from] - packet_time_; }

  // `corrupt` damages a copy of the packet; packets without bytes pass unharmed.
  template <class Corrupt>
  void send(base::Nanos now, PeerId from, PeerId to, std::uint8_t path, Packet packet,
            const Corrupt& corrupt) {
    if (faults_.dead_path == path && now >= faults_.dead_from && now < faults_.dead_until) {
      ++dropped_;
      return;
    }
    if (chance(faults_.drop)) {
      ++dropped_;
      return;
    }
    base::Nanos when = now + faults_.delay;
    if (port_queue_ > 0) {
      egress_free_[from] = std::max(now, egress_free_[from]) + packet_time_;
      when = egress_free_[from] + faults_.delay;
    }
    if (path < faults_.path_delay.size()) when += faults_.path_delay[path];
    if (chance(faults_.reorder)) when += uniform(faults_.delay_spread);
    if (chance(faults_.duplicate)) {
      push({when + uniform(faults_.delay_spread), 0, to, port_queue_ > 0, packet});
    }
    if (chance(faults_.corrupt)) corrupt(packet, random_);
    push({when, 0, to, port_queue_ > 0, std::move(packet)});
  }

  bool empty() const { return arrivals_.empty(); }
  base::Nanos next_time() const { return empty() ? base::kNever : arrivals_.top().when; }
  // The earliest event: a datagram for its rank, or none where it only moved inside the network.
  std::optional<Arrived> pop() {
    Arrived arrival = arrivals_.top();
    arrivals_.pop();
    if (!arrival.at_port) return arrival;
    base::Nanos& free = port_free_[arrival.to];
    if (free - arrival.when >= static_cast<base::Nanos>(port_queue_) * packet_time_) {
      ++dropped_;
      return std::nullopt;
    }
    free = std::max(free, arrival.when) + packet_time_;
    arrival.when = free;
    arrival.at_port = false;
    push(std::move(arrival));
    return std::nullopt;
  }
  std::uint64_t dropped() const { return dropped_; }

 private:
  bool chance(double probability) {
    return probability > 0 && std::uniform_real_distribution<>(0, 1)(random_) < probability;
  }
  base::Nanos uniform(base::Nanos below) {
    return below <= 0 ? 0 : static_cast<base::Nanos>(random_() % static_cast<std::uint64_t>(below));
  }
  void push(Arrived arrival) {
    arrival.sequence = sequence_++;
    arrivals_.push(std::move(arrival));
  }

  Faults faults_;
  base::Nanos packet_time_;
  std::uint32_t port_queue_;
  std::mt19937_64 random_;
  std::vector<base::Nanos> egress_free_, port_free_;
  std::priority_queue<Arrived, std::vector<Arrived>, std::greater<>> arrivals_;
  std::uint64_t sequence_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace alm::swarm
