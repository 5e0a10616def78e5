#include "harness/streams.h"

#include <fmt/core.h>

#include <algorithm>

#include "harness/simulation.h"

namespace alm::harness {
namespace {

using sim::kNone;
using sim::Picos;

class Sources final : public sim::Program {
 public:
  explicit Sources(const StreamRequest& request)
      : request_(request),
        of_host_(request.cluster->host_count(), kNone),
        sources_(request.streams.size()) {
    for (std::uint32_t i = 0; i < request.streams.size(); ++i) {
      of_host_[request.streams[i].from] = i;
      sources_[i].left = request.message_bytes;
    }
  }

  bool pull(std::uint32_t host, Picos, std::uint32_t index, sim::Packet& packet) override {
    if (of_host_[host] == kNone) return false;
    const std::uint32_t number = of_host_[host];
    Source& source = sources_[number];
    if (index >= cargo_.size()) cargo_.resize(index + index / 2 + 64);
    const auto payload =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(source.left, request_.packet_bytes));
    cargo_[index] = {number, payload};
    packet.destination = request_.streams[number].to;
    packet.bytes = payload + request_.overhead_bytes;
    packet.label = source.message;
    packet.flow = routing::label(request_.network.rule, host, packet.destination, source.message);
    source.left -= payload;
    if (source.left == 0) {
      source.left = request_.message_bytes;
      ++source.message;
    }
    return true;
  }
  void receive(std::uint32_t, Picos now, std::uint32_t index, const sim::Packet&) override {
    if (now < request_.warm_up) return;
    sources_[cargo_[index].source].received += cargo_[index].payload;
  }
  void timer(std::uint32_t, Picos) override {}
  Picos deadline(std::uint32_t) const override { return sim::kNever; }
  bool done() const override { return false; }

  std::vector<double> bit_s() const {
    constexpr double kBitsPerByte = 8;
    const double seconds =
        static_cast<double>(request_.duration) / static_cast<double>(sim::kPicosPerSecond);
    std::vector<double> out;
    for (const Source& source : sources_) {
      out.push_back(static_cast<double>(source.received) * kBitsPerByte / seconds);
    }
    return out;
  }

 private:
  struct Source {
    std::uint64_t left = 0;  // of the message that is being sent
    std::uint32_t message = 0;
    std::uint64_t received = 0;  // bytes, since the warm-up
  };
  struct Cargo {
    std::uint32_t source = 0, payload = 0;
  };

  const StreamRequest& request_;
  std::vector<std::uint32_t> of_host_;
  std::vector<Source> sources_;
  std::vector<Cargo> cargo_;  // by the simulator's index of a packet
};

base::Status check(const StreamRequest& request) {
  const std::uint32_t hosts = request.cluster->host_count();
  std::vector<bool> sends(hosts, false);
  for (const Stream& stream : request.streams) {
    if (stream.from >= hosts || stream.to >= hosts || stream.from == stream.to) {
      return base::bad_input(
          fmt::format("a stream from host {} to host {} of {}; expected two different ones",
                      stream.from, stream.to, hosts));
    }
    if (sends[stream.from]) {
      return base::bad_input(fmt::format("host `{}` has two streams; expected one at most",
                                         request.cluster->hosts[stream.from].name));
    }
    sends[stream.from] = true;
  }
  if (request.streams.empty() || request.message_bytes == 0 || request.packet_bytes == 0 ||
      request.duration <= 0 || request.warm_up < 0) {
    return base::bad_input("streams need hosts, messages and packets of a byte, and a duration");
  }
  return {};
}

}  // namespace

base::Result<StreamResult> simulate_streams(const StreamRequest& request) {
  if (auto status = check(request); !status) return status.error();
  sim::Options network = request.network;
  network.time_max = request.warm_up + request.duration;
  auto made = sim::Simulator::make(*request.cluster, network);
  if (!made) return made.error();
  sim::Simulator& simulator = *made.value();
  Sources sources(request);
  if (simulator.run(sources) == sim::Outcome::kDeadlock) {
    std::string circle;
    for (const std::uint32_t port : simulator.deadlock()) {
      circle += (circle.empty() ? "" : ", ") + port_name(*request.cluster, port);
    }
    return base::Error{base::ErrorCode::kTimeout,
                       "ports wait for each other and nothing will ever move them: " + circle};
  }
  StreamResult out{.bit_s = sources.bit_s(), .ports = {}};
  for (std::uint32_t port = 0; port < simulator.ports(); ++port) {
    out.ports.push_back(simulator.stats(port));
  }
  return out;
}

}  // namespace alm::harness
