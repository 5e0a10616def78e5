// One end of a UDP flow through an Endpoint: what the sockets reach, without the protocol.
//
//   udp_flow receive LOCAL [mtu=0] [gro=1]                       prints its port, then figures
//   udp_flow send LOCAL TO PORT COUNT BYTES [grain=1] [pace=0] [gso=1] [sndbuf=0] [mtu=0]
//
// The receiver ends 300 ms after the last datagram (10 s without any). Both end with one JSON
// object.
#include <fmt/format.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "transport/io/endpoint.h"

namespace {

using alm::base::Nanos;
using namespace alm::io;

constexpr Nanos kIdleEnd = 300 * alm::base::kMillisecond;
constexpr Nanos kFirstWait = 10 * alm::base::kSecond;

std::map<std::string, double> options_after(int first, int argc, char** argv) {
  std::map<std::string, double> options;
  for (int i = first; i < argc; ++i) {
    const std::string word = argv[i];
    const auto equals = word.find('=');
    if (equals == std::string::npos) {
      fmt::print(stderr, "udp_flow: '{}' is not NAME=NUMBER\n", word);
      std::exit(2);
    }
    options[word.substr(0, equals)] = std::atof(word.c_str() + equals + 1);
  }
  return options;
}

double get(const std::map<std::string, double>& options, const char* name, double otherwise) {
  const auto found = options.find(name);
  return found == options.end() ? otherwise : found->second;
}

std::unique_ptr<Endpoint> open_or_exit(const EndpointOptions& options) {
  auto endpoint = Endpoint::open(options);
  if (!endpoint) {
    fmt::print(stderr, "udp_flow: {}\n", endpoint.error().message);
    std::exit(1);
  }
  for (const auto& warning : endpoint.value()->warnings())
    fmt::print(stderr, "udp_flow: {}\n", warning);
  return std::move(endpoint).value();
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

void report(const Endpoint& endpoint, Nanos elapsed, std::uint64_t bytes) {
  const EndpointCounters& c = endpoint.counters();
  fmt::print(
      "{{\"seconds\": {:.6f}, \"bytes\": {}, \"datagram_bytes\": {}, \"sent\": {}, \"received\": "
      "{}, \"trains\": {}, "
      "\"send_calls\": {}, \"receive_calls\": {}, \"waits\": {}, \"would_block\": {}, "
      "\"no_buffers\": {}, "
      "\"paced\": {}, \"overflow\": {}, \"refused\": {}, \"oversized\": {}, \"gso_fallbacks\": {}, "
      "\"cpu_seconds\": {:.6f}}}\n",
      static_cast<double>(elapsed) / 1e9, bytes, endpoint.datagram_bytes(), c.datagrams_sent,
      c.datagrams_received, c.trains_sent, c.send_calls, c.receive_calls, c.waits, c.would_block,
      c.no_buffers, c.paced, c.receive_overflow, c.refused, c.oversized, c.gso_fallbacks,
      cpu_seconds());
}

int receive(int argc, char** argv) {
  const auto options = options_after(3, argc, argv);
  EndpointOptions open;
  open.local_address = argv[2];
  open.allow_gro = get(options, "gro", 1) != 0;
  open.mtu_bytes = static_cast<std::uint32_t>(get(options, "mtu", 0));
  const auto endpoint = open_or_exit(open);
  fmt::print("{}\n", port_of(endpoint->local()));
  std::fflush(stdout);
  std::uint64_t bytes = 0;
  Nanos first = 0, last = 0;
  const Nanos begun = monotonic_now();
  while (true) {
    const Nanos now = monotonic_now();
    const Nanos until = first == 0 ? begun + kFirstWait : last + kIdleEnd;
    if (now >= until) break;
    if (endpoint->receive(
            [&](const Address&, std::span<const std::byte> d) { bytes += d.size(); }) > 0) {
      last = now;
      if (first == 0) first = now;
      continue;
    }
    endpoint->wait(now, until, false);
  }
  report(*endpoint, last - first, bytes);
  return 0;
}

int send(int argc, char** argv) {
  const auto options = options_after(7, argc, argv);
  EndpointOptions open;
  open.local_address = argv[2];
  open.grain_packets = static_cast<std::uint32_t>(get(options, "grain", 1));
  open.pace_mbit_s = get(options, "pace", 0);
  open.allow_gso = get(options, "gso", 1) != 0;
  open.send_buffer_packets = static_cast<std::uint32_t>(get(options, "sndbuf", 0));
  open.mtu_bytes = static_cast<std::uint32_t>(get(options, "mtu", 0));
  const auto endpoint = open_or_exit(open);
  auto to = make_address(argv[3], static_cast<std::uint16_t>(std::atoi(argv[4])));
  if (!to) {
    fmt::print(stderr, "udp_flow: {}\n", to.error().message);
    return 2;
  }
  const auto count = static_cast<std::uint64_t>(std::atoll(argv[5]));
  std::size_t bytes = static_cast<std::size_t>(std::atoll(argv[6]));
  if (bytes == 0) bytes = endpoint->datagram_bytes();
  const std::size_t head = std::min<std::size_t>(24, bytes);
  const std::vector<std::byte> payload(bytes, std::byte{0x5A});
  const SendItem item{&to.value(), 0, std::span(payload).first(head),
                      std::span(payload).subspan(head)};
  const std::vector<SendItem> items(64, item);
  const Nanos begun = monotonic_now();
  std::uint64_t sent = 0;
  while (sent < count) {
    const Nanos now = monotonic_now();
    const std::size_t batch = std::min<std::uint64_t>(endpoint->batch_packets(), count - sent);
    const std::size_t taken = endpoint->send(now, std::span(items).first(batch));
    sent += taken;
    if (taken < batch) {
      const Ready ready = endpoint->wait(now, now + alm::base::kSecond, true);
      if (ready.error) endpoint->clear_errors();
    }
  }
  report(*endpoint, monotonic_now() - begun, sent * bytes);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc >= 3 && std::strcmp(argv[1], "receive") == 0) return receive(argc, argv);
  if (argc >= 7 && std::strcmp(argv[1], "send") == 0) return send(argc, argv);
  fmt::print(stderr,
             "usage: udp_flow receive LOCAL [mtu=0] [gro=1]\n"
             "       udp_flow send LOCAL TO PORT COUNT BYTES [grain=1] [pace=0] [gso=1] [sndbuf=0] "
             "[mtu=0]\n");
  return 2;
}
