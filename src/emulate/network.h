// The network of a lab: frames enter it, and leave it when the simulated packets reach their hosts.
//
// Pure: frames are numbers, and time comes in as a value. Payload stays with the caller.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/simulator.h"
#include "topology/cluster.h"

namespace alm::emulate {

using sim::Picos;

// A frame on its way. `id` is the caller's.
struct Entering {
  std::uint32_t id = 0;
  std::uint32_t from = 0, to = 0;  // interfaces (emulate/interfaces.h)
  std::uint32_t bytes = 0;         // that it takes on a link
  std::uint32_t entropy = 0;       // a hash of the five-tuple, for ECMP
};

struct Delivered {
  std::uint32_t id = 0;
  std::uint32_t from = 0, to = 0;
  bool marked = false;  // a switch has set Congestion Experienced
  Picos due = 0;
};

class Network final : public sim::Program {
 public:
  // A host with so many frames waiting is stopped, and with so few let go.
  static constexpr std::uint32_t kWaitMost = 4, kWaitFew = 1;

  // `cluster` has a host for each interface. `output_frames`: see sim::Options. Errors are
  // kBadInput.
  static base::Result<std::unique_ptr<Network>> make(const topology::Cluster& cluster,
                                                     routing::Rule rule,
                                                     std::uint32_t output_frames);

  // A frame that its host began to send at `at`; it enters now if that time has passed.
  void enter(const Entering& frame, Picos at);
  // Simulates up to `now`. Frames that will certainly reach their host within `early` more are
  // delivered as well.
  void advance(Picos now, Picos early = 0);
  // No frame reaches a host before this time unless more enter; kNever: none will. A frame that is
  // not on its last link yet may arrive earlier by less than `late`.
  Picos quiet_until(Picos late = 0);
  // Whether several frames are known to be due by `until`.
  bool several_due(Picos until) const;
  // The least time from a frame's entering to its host.
  Picos shortest_route() const { return shortest_up_ + shortest_down_; }

  // Frames delivered and frames lost since the caller last cleared these lists.
  std::vector<Delivered>& delivered() { return delivered_; }
  std::vector<std::uint32_t>& lost() { return lost_; }
  // Interfaces to be stopped or let go, in order.
  struct Stop {
    std::uint32_t interface = 0;
    bool stop = false;
  };
  std::vector<Stop>& stops() { return stops_; }

  std::uint64_t held() const { return held_; }
  sim::Simulator& simulator() { return *simulator_; }
  const sim::Simulator& simulator() const { return *simulator_; }
  // The routing label of packets from one interface to another with this five-tuple hash.
  std::uint32_t label(std::uint32_t from, std::uint32_t to, std::uint32_t entropy) const;
  // The time of a full frame on the link to this host, which is the last on its route.
  Picos frame_time(std::uint32_t to) const { return hosts_[to].frame_time; }
  // The least frame_time() of all hosts.
  Picos frame_time_min() const { return frame_time_min_; }

  // sim::Program
  bool pull(std::uint32_t host, Picos now, std::uint32_t index, sim::Packet& packet) override;
  void receive(std::uint32_t host, Picos now, std::uint32_t index,
               const sim::Packet& packet) override;
  void timer(std::uint32_t, Picos) override {}
  Picos deadline(std::uint32_t host) const override;
  bool done() const override { return false; }
  void lost(std::uint32_t index) override;
  void marked(std::uint32_t index) override { under_way_[index].marked = true; }
  void due(Picos at, std::uint32_t index, bool surely) override;

 private:
  struct Waiting {
    Entering frame;
    Picos at = 0;
  };
  struct Host {
    std::deque<Waiting> waiting;
    bool stopped = false;
    Picos frame_time = 0;
  };
  struct UnderWay {
    Entering frame;
    bool delivered = false;  // before the simulated packet arrived
    bool marked = false;
  };
  void deliver(const UnderWay& packet, Picos due);

  struct Due {
    Picos at = 0;
    std::uint32_t index = 0;
    bool surely = false;
    friend bool operator>(const Due& a, const Due& b) { return a.at > b.at; }
  };

  Due take_due();
  Network() = default;

  std::unique_ptr<sim::Simulator> simulator_;
  std::vector<Host> hosts_;
  std::vector<UnderWay> under_way_;  // by index of the simulator's packet
  std::vector<Due> due_;             // a heap, the next one first
  std::vector<Delivered> delivered_;
  std::vector<std::uint32_t> lost_;
  std::vector<Stop> stops_;
  std::uint64_t held_ = 0;
  Picos shortest_up_ = 0, shortest_down_ = 0, frame_time_min_ = 0;
};

}  // namespace alm::emulate
