// What a job without a cluster file asks of the idle network: how long a packet is under way, and
// what a full frame takes on a link.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "communicator/bring_up.h"
#include "transport/io/address.h"
#include "transport/io/round_trips.h"

namespace alm::communicator {
namespace {

constexpr base::Nanos kPatience = 5 * base::kMillisecond;

// The middle one; 0: there is none.
base::Nanos middle_of(std::vector<base::Nanos> known) {
  std::erase(known, 0);
  std::sort(known.begin(), known.end());
  return known.empty() ? 0 : known[known.size() / 2];
}

}  // namespace

// Once in a job, of up to three hosts. No error if nobody answers.
void BringUp::ask_network(transport::Config& config) const {
  const io::Address local = driver_->endpoint().local(0);
  if (job_.idle_round_trip < 0) {
    std::vector<io::Address> asked{local};
    const auto addresses = addresses_of_peers();
    const auto hosts = static_cast<std::uint32_t>(addresses.size());
    std::uint32_t before = 0;
    for (const std::uint32_t off : {1u, hosts / 4, hosts / 2}) {
      if (off <= before) continue;
      before = off;
      const auto& of_host = addresses[(members_.host + off) % hosts];
      if (!of_host.empty()) asked.push_back(of_host.front());
    }
    if (asked.size() == 1) return;
    const auto patience = base::slowed(kPatience, job_.options.time_scale);
    io::Echoes::Manner manner{.patience = patience};
    const auto short_trips = io::measure_round_trips(local, asked, 0, manner);
    manner.datagram_bytes = std::max(manner.datagram_bytes, config.datagram_bytes);
    const auto long_trips = io::measure_round_trips(local, asked, 0, manner);
    std::vector<base::Nanos> longer;  // of those that have answered both
    for (std::size_t i = 0; short_trips && long_trips && i < asked.size(); ++i) {
      const base::Nanos without = short_trips.value()[i], with = long_trips.value()[i];
      if (without > 0 && with > without) longer.push_back(with - without);
    }
    // A frame passes two links at least, and each holds it until all of it has come.
    job_.frame_time = middle_of(longer) / 2;
    const base::Nanos trip = long_trips ? middle_of(long_trips.value()) : 0;
    job_.idle_round_trip = trip;
    if (members_.self == 0) {
      job_.log.info(fmt::format(
          "asked {} hosts: {:.3g} ms to another and back, {:.3g} ms at most for a frame on a link",
          asked.size() - 1, static_cast<double>(trip) / base::kMillisecond,
          static_cast<double>(job_.frame_time) / base::kMillisecond));
    }
  }
  config.idle_round_trip = job_.idle_round_trip;
  constexpr double kBitNanos = 8000;  // bits per byte, ns per (bit / Mbit/s)
  if (const double mbit_s = io::interface_speed(local); mbit_s > 0) {
    config.packet_time =
        std::max<base::Nanos>(1, std::llround(config.datagram_bytes * kBitNanos / mbit_s));
  }
  // Interfaces of virtual machines tell any speed. What was measured holds the time of hosts too,
  // so it counts only where it is much longer: timers bear a factor of 16 (transport/delays.h).
  constexpr base::Nanos kMuch = 16;
  if (job_.frame_time > kMuch * config.packet_time) config.packet_time = job_.frame_time;
}

}  // namespace alm::communicator
