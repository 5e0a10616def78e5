// What the simulator reaches: speed on one core, and how near it is to what is known. Prints one
// table; processor time, not wall time. Run: make bench-sim
#include <fmt/core.h>
#include <sys/resource.h>

#include <cmath>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "harness/simulation.h"
#include "plan/plan.h"
#include "plan/tune.h"
#include "sim/random.h"
#include "topology/cluster.h"

namespace {

using namespace alm;
using topology::Cluster;

constexpr double kMillion = 1e6;
constexpr std::uint32_t kIpUdpBytes = 28;
constexpr sim::Picos kStubFrame = 12'112'000;  // 1514 bytes at 1 Gbit/s

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

double resident_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

void row(const std::string& what, const std::string& target, const std::string& got) {
  fmt::print("{:<66} {:>16} {:>26}\n", what, target, got);
  std::fflush(stdout);
}

Cluster load(const std::string& name) {
  auto cluster =
      topology::load_cluster(std::string(ALM_SOURCE_DIR) + "/clusters/" + name + ".toml");
  if (!cluster) {
    fmt::print(stderr, "{}\n", cluster.error().message);
    std::exit(1);
  }
  return std::move(cluster).value();
}

std::vector<base::HostId> all_hosts(const Cluster& cluster) {
  std::vector<base::HostId> hosts;
  for (std::uint32_t i = 0; i < cluster.host_count(); ++i) hosts.push_back({i});
  return hosts;
}

// An exchange by the real protocol, planned and tuned as the library would.
struct Exchange {
  std::uint64_t bytes = 0;
  plan::Algorithm algorithm = plan::Algorithm::kSyncShuffle;
  std::uint32_t window = 0;
  std::uint32_t datagram_bytes = 1472;
  bool pauses = false;  // of 100 us every 5 ms on each host
};

struct Measured {
  harness::SimResult result;
  double cpu = 0;
  double seconds() const { return static_cast<double>(result.exchange_time.front()) * 1e-12; }
  double hops_per_cpu_s() const { return static_cast<double>(result.packet_hops) / cpu / kMillion; }
  double events_per_hop() const {
    return static_cast<double>(result.events) / static_cast<double>(result.packet_hops);
  }
};

Measured measure(Cluster cluster, const Exchange& exchange) {
  cluster.framing.mtu_bytes = exchange.datagram_bytes + kIpUdpBytes;
  const auto hosts = all_hosts(cluster);
  const plan::Tuning tuning = plan::tune(cluster, hosts);
  std::vector<std::vector<std::uint32_t>> groups;
  if (const auto tree = topology::hierarchy(cluster); tree) groups = tree.value().level;

  harness::SimRequest request;
  request.cluster = &cluster;
  request.bytes = exchange.bytes;
  request.network.frame_bytes = cluster.framing.mtu_bytes + cluster.framing.link_header_bytes;
  if (exchange.pauses) {
    request.network.pauses = {.mean = 100 * sim::kPicosPerMicro,
                              .interval = 5000 * sim::kPicosPerMicro};
  }
  request.config = [&](std::uint32_t) {
    transport::Config config;
    config.datagram_bytes = exchange.datagram_bytes;
    config.window_packets = exchange.window != 0 ? exchange.window : tuning.window_packets;
    config.grain_packets = tuning.grain_packets;
    config.packet_time = std::max<base::Nanos>(1, std::llround(tuning.packet_time_us * 1e3));
    return config;
  };
  request.plan = [&](std::uint32_t rank) {
    return plan::make_plan({.ranks = cluster.host_count(),
                            .self = {rank},
                            .algorithm = exchange.algorithm,
                            .leaf_of = groups});
  };
  const double begin = cpu_seconds();
  auto result = harness::simulate(request);
  Measured out;
  out.cpu = cpu_seconds() - begin;
  if (!result) {
    fmt::print(stderr, "{}\n", result.error().message);
    std::exit(1);
  }
  out.result = std::move(result).value();
  return out;
}

double fraction_of_limit(const Cluster& cluster, const Exchange& exchange) {
  const auto hosts = all_hosts(cluster);
  return topology::alltoall_limit_seconds(cluster, hosts, exchange.bytes) /
         measure(cluster, exchange).seconds();
}

// Hosts that send frames to all others in turn, without a protocol.
class Stub final : public sim::Program {
 public:
  Stub(std::uint32_t hosts, std::uint64_t packets)
      : to_(hosts), left_(hosts, packets), expected_(hosts * packets), hosts_(hosts) {
    for (std::uint32_t i = 0; i < hosts; ++i) to_[i] = i;
  }
  bool pull(std::uint32_t host, sim::Picos, std::uint32_t, sim::Packet& packet) override {
    if (left_[host] == 0) return false;
    --left_[host];
    to_[host] = to_[host] + 1 == hosts_ ? 0 : to_[host] + 1;
    if (to_[host] == host) to_[host] = to_[host] + 1 == hosts_ ? 0 : to_[host] + 1;
    packet.destination = to_[host];
    packet.bytes = 1514;
    return true;
  }
  void receive(std::uint32_t, sim::Picos, std::uint32_t, const sim::Packet&) override {
    ++received_;
  }
  void timer(std::uint32_t, sim::Picos) override {}
  sim::Picos deadline(std::uint32_t) const override { return sim::kNever; }
  bool done() const override { return received_ == expected_; }

 private:
  std::vector<std::uint32_t> to_;
  std::vector<std::uint64_t> left_;
  std::uint64_t expected_, received_ = 0;
  std::uint32_t hosts_;
};

void stub_row() {
  const Cluster cluster = topology::build_fat_tree(128).value();
  auto simulator = sim::Simulator::make(cluster, {});
  Stub program(128, 20'000);
  const double begin = cpu_seconds();
  simulator.value()->run(program);
  const double cpu = cpu_seconds() - begin;
  const auto hops = static_cast<double>(simulator.value()->packet_hops());
  row("stub protocol, 128 hosts, million packet-hops per CPU-s", "",
      fmt::format("{:.1f}", hops / cpu / kMillion));
}

// Every host always has something for one drawn at random.
class Saturation final : public sim::Program {
 public:
  Saturation(std::uint32_t hosts, std::int64_t slots, sim::Picos frame)
      : hosts_(hosts), warm_(slots / 10 * frame), end_(slots * frame), frame_(frame) {}
  bool pull(std::uint32_t, sim::Picos, std::uint32_t, sim::Packet& packet) override {
    packet.destination = static_cast<std::uint32_t>(random_.below(hosts_));
    packet.bytes = 1514;
    return true;
  }
  void receive(std::uint32_t, sim::Picos now, std::uint32_t, const sim::Packet&) override {
    now_ = now;
    if (now > warm_) ++received_;
  }
  void timer(std::uint32_t, sim::Picos) override {}
  sim::Picos deadline(std::uint32_t) const override { return sim::kNever; }
  bool done() const override { return now_ >= end_; }
  double throughput() const {
    return static_cast<double>(received_) * static_cast<double>(frame_) /
           (static_cast<double>(end_ - warm_) * hosts_);
  }

 private:
  sim::Random random_{7};
  std::uint32_t hosts_;
  sim::Picos warm_, end_, frame_, now_ = 0;
  std::uint64_t received_ = 0;
};

double saturated(std::uint32_t hosts, topology::Architecture architecture, std::int64_t slots,
                 double* events_per_hop = nullptr) {
  topology::TreeSpec spec{.groups = {hosts}, .host_mbit_s = 1000, .host_queue_packets = 200};
  Cluster cluster = topology::build_tree(spec);
  cluster.switches[0].architecture = architecture;
  sim::Options options;
  options.output_frames = 0;
  auto simulator = sim::Simulator::make(cluster, options);
  Saturation program(hosts, slots, kStubFrame);
  simulator.value()->run(program);
  if (events_per_hop != nullptr) {
    *events_per_hop = static_cast<double>(simulator.value()->events()) /
                      static_cast<double>(simulator.value()->packet_hops());
  }
  return program.throughput();
}

class Poisson final : public sim::Program {
 public:
  Poisson(double rho, std::uint64_t packets)
      : gap_(static_cast<sim::Picos>(static_cast<double>(kStubFrame) / rho)), packets_(packets) {}
  bool pull(std::uint32_t host, sim::Picos now, std::uint32_t, sim::Packet& packet) override {
    if (host != 0 || next_ > now) return false;
    sent_.push_back(next_);
    next_ += random_.exponential(gap_);
    packet.destination = 1;
    packet.bytes = 1514;
    return true;
  }
  void receive(std::uint32_t, sim::Picos now, std::uint32_t, const sim::Packet&) override {
    waited_ += static_cast<double>(now - sent_.front() - kStubFrame);
    sent_.pop_front();
    ++received_;
  }
  void timer(std::uint32_t, sim::Picos) override {}
  sim::Picos deadline(std::uint32_t host) const override { return host == 0 ? next_ : sim::kNever; }
  bool done() const override { return received_ >= packets_; }
  double mean_wait() const {
    return waited_ / static_cast<double>(received_) / static_cast<double>(kStubFrame);
  }

 private:
  sim::Random random_{11};
  sim::Picos gap_;
  std::uint64_t packets_, received_ = 0;
  sim::Picos next_ = 0;
  std::deque<sim::Picos> sent_;
  double waited_ = 0;
};

void md1_row(double rho, std::uint64_t packets, const std::string& target) {
  topology::TreeSpec spec{.groups = {2}, .host_mbit_s = 1000, .host_queue_packets = 1'000'000};
  Cluster cluster = topology::build_tree(spec);
  cluster.links[0].rate_up_mbit_s = 1e9;
  auto simulator = sim::Simulator::make(cluster, {});
  Poisson program(rho, packets);
  simulator.value()->run(program);
  const double expected = rho / (2 * (1 - rho));
  row(fmt::format("M/D/1 mean wait at rho = {}, off by", rho), target,
      fmt::format("{:+.2f} %", 100 * (program.mean_wait() / expected - 1)));
}

void speed() {
  stub_row();
  const Cluster tree = topology::build_fat_tree(128).value();
  Measured got = measure(tree, {.bytes = 1 << 20});
  row("real protocol, million packet-hops per CPU-s", "",
      fmt::format("{:.1f}", got.hops_per_cpu_s()));
  row("events per packet-hop, output-queued", "<= 1.2",
      fmt::format("{:.2f}", got.events_per_hop()));
  double input_events = 0;
  saturated(64, topology::Architecture::kInput, 5'000, &input_events);
  row("events per packet-hop, saturated input-buffered switch", "<= 3",
      fmt::format("{:.2f}", input_events));
  row("128 hosts x 1 MiB, MTU 1500", "", fmt::format("{:.1f} CPU-s", got.cpu));
  // Ratios within one run say more than seconds of some machine.
  const double small = got.hops_per_cpu_s();
  got = measure(tree, {.bytes = 1 << 20, .datagram_bytes = 4096});
  row("128 hosts x 1 MiB, 4 KiB packets", "", fmt::format("{:.1f} CPU-s", got.cpu));
  got = measure(topology::build_fat_tree(1024).value(), {.bytes = 64 << 10});
  row("1024 hosts x 64 KiB, MTU 1500", "<= 410 MiB",
      fmt::format("{:.1f} CPU-s, {:.0f} MiB", got.cpu, resident_mib()));
  row("packet-hops per CPU-s, 1024 hosts x 64 KiB against 128 x 1 MiB", ">= 0.65",
      fmt::format("{:.2f}", got.hops_per_cpu_s() / small));
}

void known_results() {
  using topology::Architecture;
  const std::vector<std::pair<std::uint32_t, std::string>> karol = {
      {2, "0.750"}, {4, "0.655"}, {8, "0.618"}, {64, "0.586 +- 0.01"}, {128, "0.586 +- 0.01"}};
  for (const auto& [hosts, target] : karol) {
    const std::int64_t slots = hosts <= 8 ? 200'000 : 20'000;
    row(fmt::format("saturated input-buffered switch, {} ports, throughput", hosts), target,
        fmt::format("{:.4f}", saturated(hosts, Architecture::kInput, slots)));
  }
  row("saturated output-buffered switch, 64 ports, 200 packets each", ">= 0.99",
      fmt::format("{:.4f}", saturated(64, Architecture::kOutput, 20'000)));
  md1_row(0.5, 2'000'000, "1 %");
  md1_row(0.8, 4'000'000, "2 %");
  md1_row(0.95, 10'000'000, "5 %");
}

void exchanges() {
  struct Published {
    std::string name;
    double bound_mb_s;
    std::uint32_t window;
    std::string target;
  };
  constexpr std::uint64_t kLarge = 1'200'000;
  for (const Published& one : {Published{"tam-8x2-u412", 12.07, 5, "93 .. 100 %"},
                               Published{"tam-8x3-u412", 9.25, 4, "89 .. 100 %"},
                               Published{"tam-6x4-u412", 10.96, 5, "88 .. 100 %"},
                               Published{"tam-8x4-u412", 8.32, 3, "92 .. 100 %"}}) {
    const Cluster cluster = load(one.name);
    const Measured got = measure(cluster, {.bytes = kLarge, .window = one.window});
    const double mb_s =
        static_cast<double>(kLarge) * (cluster.host_count() - 1) / got.seconds() / kMillion;
    row(fmt::format("{}, 1200 KB, W = {}: of the published bound; packets lost", one.name,
                    one.window),
        one.target + ", 0",
        fmt::format("{:.1f} %, {}", 100 * mb_s / one.bound_mb_s, got.result.dropped));
  }
  const Cluster single = load("tam-16x1");
  for (const auto& [bytes, target] :
       {std::pair{1000, ">= 87 %"}, std::pair{1'200'000, ">= 97 %"}}) {
    row(fmt::format("tam-16x1, {} bytes: of the link rate", bytes), target,
        fmt::format("{:.1f} %",
                    100 * fraction_of_limit(single, {.bytes = static_cast<std::uint64_t>(bytes)})));
  }
  const Cluster tree = topology::build_fat_tree(128).value();
  for (const bool pauses : {false, true}) {
    const char* hosts = pauses ? "hosts pause 100 us every 5 ms" : "no jitter";
    const auto fraction = [&](plan::Algorithm algorithm) {
      return fmt::format("{:.1f} %", 100 * fraction_of_limit(tree, {.bytes = 64 << 10,
                                                                    .algorithm = algorithm,
                                                                    .pauses = pauses}));
    };
    row(fmt::format("128 hosts, 64 KiB, shift exchange, {}", hosts), "incast",
        fraction(plan::Algorithm::kShiftExchange));
    row(fmt::format("128 hosts, 64 KiB, synchronous shuffle, {}", hosts), ">= 95 %",
        fraction(plan::Algorithm::kSyncShuffle));
  }
}

}  // namespace

int main() {
  row("what", "target", "measured");
  speed();
  known_results();
  exchanges();
  return 0;
}
