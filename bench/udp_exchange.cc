// What an exchange costs in system calls and processor time: RANKS drivers of one process, a thread
// each, over loopback.
//
//   udp_exchange RANKS BYTES COUNT [window=16] [grain=1] [progress=1] [mtu=1500] [responder=1]
//                [pace=0] [netns=0] [oneway=0] [header=0]
//
// header=1: the checksum leaves the data to UDP's (option integrity).
// oneway=1: rank 0 sends to the others and receives nothing.
// netns=1: rank I lives in the network namespace hI with the address 198.18.0.(I+1); pace is the
// rate of its link in Mbit/s. Ends with one JSON object; figures per datagram are over what all
// ranks sent.
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "transport/io/driver.h"

namespace {

using namespace alm;

struct Options {
  std::uint32_t ranks = 0;
  std::uint64_t bytes = 0;
  unsigned count = 0;
  std::map<std::string, unsigned> named{{"window", 16}, {"grain", 1},     {"progress", 1},
                                        {"mtu", 1500},  {"responder", 1}, {"pace", 0},
                                        {"netns", 0},   {"oneway", 0},    {"header", 0}};
};

struct Rank {
  std::unique_ptr<io::Driver> driver;
  std::uint16_t set = 0;
  double cpu_s = 0;  // of its thread
};

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

// The calling thread enters the namespace: sockets opened from then on belong to it.
void enter_namespace(std::uint32_t rank) {
  const std::string path = fmt::format("/run/netns/h{}", rank);
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0 || ::setns(fd, CLONE_NEWNET) != 0) {
    fmt::print(stderr, "udp_exchange: cannot enter {}\n", path);
    std::exit(1);
  }
  ::close(fd);
}

std::vector<Rank> open_ranks(const Options& options) {
  std::vector<Rank> ranks(options.ranks);
  std::vector<std::uint16_t> numbers;
  for (std::uint32_t self = 0; self < options.ranks; ++self) {
    Rank& rank = ranks[self];
    io::EndpointOptions endpoint;
    endpoint.local_address = "127.0.0.1";
    endpoint.pace_mbit_s = options.named.at("pace");
    if (options.named.at("netns") != 0) {
      enter_namespace(self);
      endpoint.local_address = fmt::format("198.18.0.{}", self + 1);
    }
    endpoint.mtu_bytes = options.named.at("mtu");
    endpoint.grain_packets = options.named.at("grain");
    auto opened = io::Endpoint::open(endpoint);
    if (!opened) {
      fmt::print(stderr, "udp_exchange: {}\n", opened.error().message);
      std::exit(1);
    }
    auto driver = io::Driver::create(std::move(opened).value(), options.named.at("responder") != 0);
    if (!driver) {
      fmt::print(stderr, "udp_exchange: {}\n", driver.error().message);
      std::exit(1);
    }
    rank.driver = std::move(driver).value();
    rank.set = rank.driver->reserve_set();
    numbers.push_back(rank.set);
  }
  for (std::uint32_t self = 0; self < options.ranks; ++self) {
    io::PeerSet peers;
    peers.identity = {{1, 2}, self, ranks[self].set, numbers};
    peers.config.window_packets = options.named.at("window");
    peers.config.grain_packets = options.named.at("grain");
    if (options.named.at("header") != 0) peers.config.covers = wire::Covers::kHeader;
    if (const unsigned rate = options.named.at("pace"); rate > 0) {
      peers.config.packet_time = (options.named.at("mtu") + 14) * 8000 / rate;
    }
    peers.config.datagram_bytes = ranks[self].driver->endpoint().datagram_bytes();
    for (const Rank& peer : ranks) {
      peers.addresses.push_back({peer.driver->endpoint().local()});
      peers.names.push_back("localhost");
    }
    ranks[self].driver->add_set(ranks[self].set, std::move(peers));
  }
  return ranks;
}

void run_rank(const Options& options, Rank& rank, std::uint32_t self) {
  transport::Rounds rounds;
  for (std::uint32_t i = 1; i < options.ranks; ++i) {
    rounds.send.push_back((self + i) % options.ranks);
    rounds.recv.push_back((self + options.ranks - i) % options.ranks);
  }
  rounds.send_begin = rounds.recv_begin = {0, options.ranks - 1};
  const std::vector<std::byte> out(options.bytes * options.ranks, std::byte{1});
  std::vector<std::byte> in(out.size());
  transport::Exchange exchange;
  exchange.rounds = &rounds;
  exchange.send = {out.data(), options.bytes, options.bytes, {}, {}};
  exchange.recv = {in.data(), options.bytes, options.bytes, {}, {}};
  std::vector<std::uint64_t> at(options.ranks), sent(options.ranks), received(options.ranks);
  if (options.named.at("oneway") != 0) {
    for (std::uint32_t peer = 0; peer < options.ranks; ++peer) {
      at[peer] = peer * options.bytes;
      sent[peer] = self == 0 && peer != 0 ? options.bytes : 0;
      received[peer] = self != 0 && peer == 0 ? options.bytes : 0;
    }
    exchange.send = {out.data(), 0, 0, at, sent};
    exchange.recv = {in.data(), 0, 0, at, received};
  }
  io::Driver::Progress progress;
  if (options.named.at("progress") != 0) progress = [] {};
  for (unsigned i = 0; i < options.count; ++i) {
    if (auto status = rank.driver->run(rank.set, exchange, progress, {}); !status) {
      fmt::print(stderr, "udp_exchange: {}\n", status.error().message);
      std::exit(1);
    }
  }
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  rank.cpu_s = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (argc >= 4) {
    options.ranks = static_cast<std::uint32_t>(std::atoi(argv[1]));
    options.bytes = static_cast<std::uint64_t>(std::atoll(argv[2]));
    options.count = static_cast<unsigned>(std::atoi(argv[3]));
  }
  bool good = options.ranks >= 2 && options.count > 0;
  for (int i = 4; i < argc; ++i) {
    const std::string word = argv[i];
    const auto equals = word.find('=');
    const auto found = options.named.find(word.substr(0, equals));
    good = good && equals != std::string::npos && found != options.named.end();
    if (good) found->second = static_cast<unsigned>(std::atoi(word.c_str() + equals + 1));
  }
  if (!good) {
    fmt::print(
        stderr,
        "usage: udp_exchange RANKS BYTES COUNT [window=16] [grain=1] [progress=1] [mtu=1500]\n"
        "                    [responder=1] [pace=0] [netns=0] [oneway=0]\n");
    return 2;
  }
  std::vector<Rank> ranks = open_ranks(options);
  const base::Nanos begun = io::monotonic_now();
  std::vector<std::thread> threads;
  for (std::uint32_t self = 0; self < options.ranks; ++self) {
    threads.emplace_back([&, self] { run_rank(options, ranks[self], self); });
  }
  for (auto& thread : threads) thread.join();
  const double elapsed = static_cast<double>(io::monotonic_now() - begun) / 1e9;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  io::EndpointCounters sum;
  std::uint64_t again = 0, acks = 0, probes = 0, turns = 0;
  for (Rank& rank : ranks) {
    const io::EndpointCounters c = rank.driver->endpoint_counters();
    sum.datagrams_sent += c.datagrams_sent;
    sum.send_calls += c.send_calls;
    sum.receive_calls += c.receive_calls;
    sum.waits += c.waits;
    sum.would_block += c.would_block;
    sum.receive_overflow += c.receive_overflow;
    const transport::Counters t = rank.driver->counters(rank.set);
    again += t.data_retransmitted;
    acks += t.acks_sent;
    probes += t.probes_sent;
    turns += rank.driver->driver_counters().responder_turns;
  }
  const auto sent = static_cast<double>(sum.datagrams_sent);
  double others_cpu_s = 0;
  for (std::size_t i = 1; i < ranks.size(); ++i) others_cpu_s += ranks[i].cpu_s;
  const auto senders = options.named.at("oneway") != 0 ? 1u : options.ranks;
  const auto payload = static_cast<double>(options.bytes) * options.count * senders *
                       (options.ranks - 1);  // of all ranks
  fmt::print(
      "{{\"seconds\": {:.4f}, \"us_per_exchange\": {:.1f}, \"datagrams\": {}, \"retransmitted\": "
      "{}, \"acks\": {}, "
      "\"probes\": {}, \"sends_each\": {:.3f}, \"receives_each\": {:.3f}, \"waits_each\": {:.3f}, "
      "\"would_block\": {}, "
      "\"overflow\": {}, \"responder_turns\": {}, \"cpu_us_each\": {:.3f}, \"user_us_each\": "
      "{:.3f}, "
      "\"switches_each\": {:.3f}, \"gbit_s\": {:.2f}, \"first_cpu_s\": {:.4f}, "
      "\"others_cpu_s\": {:.4f}}}\n",
      elapsed, elapsed * 1e6 / options.count, sum.datagrams_sent, again, acks, probes,
      static_cast<double>(sum.send_calls) / sent, static_cast<double>(sum.receive_calls) / sent,
      static_cast<double>(sum.waits) / sent, sum.would_block, sum.receive_overflow, turns,
      (seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime)) * 1e6 / sent,
      seconds_of(usage.ru_utime) * 1e6 / sent, static_cast<double>(usage.ru_nvcsw) / sent,
      payload * 8 / 1e9 / elapsed, ranks.front().cpu_s, others_cpu_s);
  return 0;
}
