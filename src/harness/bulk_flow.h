// TCP as a neighbour: connections that always have something to send. The model has the parts of
// TCP that decide who gets how much of a link:
//
// - a congestion window that opens by a packet per acknowledgement up to the slow start threshold,
//   and by 0.53 packets per round trip beyond it; a loss cuts it to 0.7, once per window. That is
//   CUBIC where it keeps to Reno's share (RFC 9438, 4.3), as it does at the windows and round trips
//   of a cluster;
// - every packet is acknowledged by one of 66 bytes; a packet counts as lost, and is sent again,
//   when one sent three packets later has been acknowledged (RFC 6675, RFC 8985);
// - when nothing is acknowledged for srtt + 4 rttvar, 200 ms at least and doubled each time,
//   everything outstanding counts as lost and the window starts over with one packet (RFC 6298).
//
// Integers only, like the rest of the simulation. Left out: the handshake, delayed
// acknowledgements, HyStart, pacing but for `bit_s`, receive windows, TCP segmentation offload.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "harness/simulation.h"
#include "sim/simulator.h"

namespace alm::harness {

class BulkFlows final : public sim::Program {
 public:
  BulkFlows(const std::vector<BulkFlow>& flows, std::uint32_t hosts, std::uint32_t frame_bytes,
            routing::Rule rule);

  bool pull(std::uint32_t host, sim::Picos now, std::uint32_t index, sim::Packet& packet) override;
  void receive(std::uint32_t host, sim::Picos now, std::uint32_t index,
               const sim::Packet& packet) override;
  void timer(std::uint32_t host, sim::Picos now) override;
  sim::Picos deadline(std::uint32_t host) const override;
  bool done() const override { return false; }

  std::vector<FlowResult> results(sim::Picos end) const;

 private:
  struct Sent {
    sim::Picos at = 0;
    bool acked = false;
  };
  struct Flow {
    BulkFlow wanted;
    FlowResult result;
    // Transmissions are numbered, resends included; outstanding.front() is number `first`.
    std::uint64_t first = 0, next = 0;
    std::deque<Sent> outstanding;
    std::uint32_t in_flight = 0;
    std::uint32_t to_resend = 0;
    std::uint64_t window = 0;     // in 1/1024 packets
    std::uint64_t threshold = 0;  // slow start below it
    std::uint64_t recover = 0;    // losses of earlier packets cut no more
    sim::Picos srtt = 0, rttvar = 0;
    sim::Picos quiet_since = 0;
    std::uint32_t backoff = 0;
    sim::Picos next_at = 0;                    // by `bit_s`
    std::deque<std::uint64_t> to_acknowledge;  // by the receiver
  };
  struct Cargo {
    std::uint32_t flow = 0;
    bool ack = false;
    std::uint64_t number = 0;
  };

  bool may_send(const Flow& flow) const { return flow.in_flight * kUnit < flow.window; }
  void on_ack(Flow& flow, sim::Picos now, std::uint64_t number);
  void measure(Flow& flow, sim::Picos round_trip);
  void lose(Flow& flow, std::uint64_t before);
  void cut(Flow& flow);
  sim::Picos timeout_at(const Flow& flow) const;

  static constexpr std::uint64_t kUnit = 1024;

  std::vector<Flow> flows_;
  std::vector<std::vector<std::uint32_t>> ends_;  // by host: flows that begin or end there
  std::vector<Cargo> cargo_;
  std::uint32_t frame_bytes_;
  routing::Rule rule_;
};

}  // namespace alm::harness
