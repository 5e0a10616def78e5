// What a job without a cluster file asks of the idle network: how long a packet is under way, and
// what a full frame takes on a link.
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
base::Nanos middle_of(const base::Result<std::vector<base::Nanos>>& times) {
  if (!times) return 0;
  std::vector<base::Nanos> known = times.value();
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
    const auto short_trip = middle_of(io::measure_round_trips(local, asked, 0, manner));
    manner.datagram_bytes = std::max(manner.datagram_bytes, config.datagram_bytes);
    const auto long_trip = middle_of(io::measure_round_trips(local, asked, 0, manner));
    // A frame passes two links at least, and each holds it until all of it has come.
    job_.frame_time = short_trip > 0 ? std::max<base::Nanos>(0, (long_trip - short_trip) / 2) : 0;
    job_.idle_round_trip = short_trip;
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
