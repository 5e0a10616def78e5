#include "harness/probing.h"

#include <utility>

#include "probe/rank.h"
#include "routing/routes.h"
#include "sim/simulator.h"

namespace alm::harness {
namespace {

using sim::Picos;

class ProbingHosts final : public sim::Program {
 public:
  ProbingHosts(const probe::Experiment& experiment, std::uint32_t hosts,
               std::uint32_t overhead_bytes, const sim::Options& network)
      : overhead_bytes_(overhead_bytes), rule_(network.rule), user_(network.costs.user) {
    for (std::uint32_t host = 0; host < hosts; ++host) ranks_.emplace_back(experiment, host);
  }

  bool pull(std::uint32_t host, Picos now, std::uint32_t index, sim::Packet& packet) override {
    probe::Rank& rank = ranks_[host];
    const base::Nanos at = sim::to_nanos(now);
    auto outgoing = rank.next(at);
    if (!outgoing) return false;
    if (index >= cargo_.size()) cargo_.resize(index + index / 2 + 64);
    if (!outgoing->header.answer) outgoing->header.sent = at;
    cargo_[index] = outgoing->header;
    packet.destination = outgoing->to;
    packet.bytes = outgoing->bytes + overhead_bytes_;
    packet.flow = routing::label(rule_, host, outgoing->to, 0);
    packet.label = outgoing->header.number;
    rank.sent(at, at);
    return true;
  }
  void receive(std::uint32_t host, Picos now, std::uint32_t index, const sim::Packet&) override {
    ranks_[host].received(cargo_[index], sim::to_nanos(now - user_), sim::to_nanos(now));
  }
  void timer(std::uint32_t, Picos) override {}
  Picos deadline(std::uint32_t host) const override {
    return sim::from_nanos(ranks_[host].deadline());
  }
  bool done() const override { return false; }

  std::vector<probe::Log> take() {
    std::vector<probe::Log> logs;
    for (probe::Rank& rank : ranks_) logs.push_back(std::move(rank.log()));
    return logs;
  }

 private:
  std::vector<probe::Rank> ranks_;
  std::vector<probe::Header> cargo_;  // by the simulator's index of a packet
  std::uint32_t overhead_bytes_;
  routing::Rule rule_;
  Picos user_;  // what the program takes of a packet's receipt
};

}  // namespace

base::Result<std::vector<probe::Log>> simulate_probe(const ProbeRequest& request) {
  const std::uint32_t hosts = request.cluster->host_count();
  if (auto status = probe::check(*request.experiment, hosts); !status) return status.error();
  sim::Options network = request.network;
  network.time_max = sim::from_nanos(request.experiment->duration);
  auto simulator = sim::Simulator::make(*request.cluster, network);
  if (!simulator) return simulator.error();
  ProbingHosts program(*request.experiment, hosts, request.overhead_bytes, network);
  switch (simulator.value()->run(program)) {
    case sim::Outcome::kDone:
    case sim::Outcome::kIdle:
    case sim::Outcome::kTimeLimit:
      return program.take();
    case sim::Outcome::kDeadlock:
      return base::Error{base::ErrorCode::kTimeout, "the ports of the network wait for each other"};
    case sim::Outcome::kStopped:
    case sim::Outcome::kEventLimit:
      break;
  }
  return base::Error{base::ErrorCode::kUnsupported, "the simulation was stopped"};
}

}  // namespace alm::harness
