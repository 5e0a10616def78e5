// Simulates free rounds; see flow.h.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "sim/flow.h"
#include "sim/flow_resources.h"
#include "sim/flow_shares.h"

namespace alm::sim {

class FreeRounds {
 public:
  FreeRounds(const topology::Cluster& cluster, const routing::Routes& routes,
             const FlowRequest& request, FlowResult& result);

  // False: progress() stopped it.
  bool run();

  const FlowResources& resources() const { return resources_; }
  std::span<const double> port_bytes() const { return port_bytes_; }

 private:
  struct Flow {
    std::uint32_t from = 0, to = 0;
    double left = 0;       // bytes
    double latency_s = 0;  // until the last byte sent is received
    std::vector<std::uint32_t> uses;
  };
  struct Arrival {
    double time = 0;
    std::uint64_t sequence = 0;  // ties in order of sending
    std::uint32_t from = 0, to = 0;
    friend bool operator>(const Arrival& a, const Arrival& b) {
      return a.time != b.time ? a.time > b.time : a.sequence > b.sequence;
    }
  };
  struct Progress {
    std::uint32_t round = 0;
    std::uint32_t unsent = 0;               // flows of the round
    std::vector<std::uint32_t> unreceived;  // flows by round
  };

  std::size_t ranks() const { return request_.participants.size(); }
  std::uint32_t& round_of(std::uint32_t to, std::uint32_t from) {
    return round_of_[to * ranks() + from];
  }
  void load_receives();
  void start_round(std::uint32_t rank);
  void advance(std::uint32_t rank);
  void fill();
  double next_end() const;
  void flow_until(double time);

  const routing::Routes& routes_;
  const FlowRequest& request_;
  FlowResult& result_;
  FlowResources resources_;
  FairShares shares_;
  std::vector<double> port_bytes_;
  std::vector<Progress> ranks_;
  std::vector<std::uint32_t> round_of_;  // the receiver's, by receiver and sender
  std::vector<Flow> active_;
  FlowClasses classes_;
  std::vector<double> rate_;
  std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>> arrivals_;
  std::uint64_t sequence_ = 0;
  double now_ = 0;
};

}  // namespace alm::sim
