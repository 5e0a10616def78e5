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
  std::uint32_t bytes = 0;         // on a link
  std::uint32_t entropy = 0;       // of the five-tuple: what ECMP hashes
};

struct Delivered {
  std::uint32_t id = 0;
  std::uint32_t from = 0, to = 0;
  bool marked = false;  // by a switch: congestion experienced
  Picos due = 0;
};

class Network final : public sim::Program {
 public:
  // A host's link takes so many frames before the host has to be stopped.
  static constexpr std::uint32_t kWaitMost = 4, kWaitFew = 1;

  // `cluster`: one host an interface. `output_frames`: sim::Options. Errors are kBadInput.
  static base::Result<std::unique_ptr<Network>> make(const topology::Cluster& cluster,
                                                     routing::Rule rule,
                                                     std::uint32_t output_frames);

  // A frame that its host began to send at that time, or now if time has passed it already.
  void enter(const Entering& frame, Picos at);
  // Everything up to this time happens. What surely reaches its host within `early` more is
  // delivered as well: by then nothing can change it.
  void advance(Picos now, Picos early = 0);
  // Nothing reaches a host before that, unless more enters; kNever: nothing at all. What is not on
  // its last link yet may be there before by less than `late`.
  Picos quiet_until(Picos late = 0);
  // Whether several frames are known to be due by then.
  bool several_due(Picos until) const;
  // A frame that enters now reaches no host sooner than after this time.
  Picos shortest_way() const { return shortest_up_ + shortest_down_; }

  // Since they were taken last. Frames of `lost` will not arrive.
  std::vector<Delivered>& delivered() { return delivered_; }
  std::vector<std::uint32_t>& lost() { return lost_; }
  // Hosts that are to be stopped (true) or let go, in order.
  struct Stop {
    std::uint32_t interface = 0;
    bool stop = false;
  };
  std::vector<Stop>& stops() { return stops_; }

  std::uint64_t held() const { return held_; }
  sim::Simulator& simulator() { return *simulator_; }
  const sim::Simulator& simulator() const { return *simulator_; }
  // What a packet carries on the way from one interface to another by this five-tuple.
  std::uint32_t label(std::uint32_t from, std::uint32_t to, std::uint32_t entropy) const;
  // What a full frame takes on the last link of its way.
  Picos frame_time(std::uint32_t to) const { return hosts_[to].frame_time; }
  // The least of them.
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
    bool delivered = false;  // ahead of time
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
