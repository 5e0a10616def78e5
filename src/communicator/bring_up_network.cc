// What interfaces tell, and what a job without a cluster file asks of the idle network: how long a
// packet is under way, and what a full frame takes on a link.
#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <set>
#include <vector>

#include "clocks/idle_times.h"
#include "communicator/bring_up.h"
#include "transport/io/address.h"
#include "transport/io/round_trips.h"

namespace alm::communicator {
namespace {

// Answers are late from far sites, where gathering was, too, or a rank was; some never come.
constexpr base::Nanos kPatience = 5 * base::kMillisecond;
constexpr base::Nanos kPatienceMost = 250 * base::kMillisecond;
constexpr base::Nanos kGatherings = 4;  // for the way there and back

// An answer quotes the datagram, but is not longer than 576 bytes (RFC 1812, 4.3.2.3), with IPv6
// 1280 (RFC 4443, 2.4). So a long question has a longer answer. What share of the time by which its
// round trip is longer is that?
double share_of_answers(int family, std::uint32_t datagram_bytes) {
  const double headers = family == AF_INET6 ? 48 : 28;  // of IP, and of UDP or ICMP
  const double longest = family == AF_INET6 ? 1280 : 576;
  const double small = io::Echoes::Manner().datagram_bytes;
  const auto answer = [&](double bytes) { return std::min(longest, 2 * headers + bytes); };
  const double answers = answer(datagram_bytes) - answer(small);
  return answers / (answers + datagram_bytes - small);
}

}  // namespace

// Once in a job, of up to three hosts. No error if nobody answers.
void BringUp::ask_network(std::uint32_t datagram_bytes) const {
  std::vector<io::Address> asked{driver_->endpoint().local(0)};
  const auto addresses = addresses_of_peers();
  const auto hosts = static_cast<std::uint32_t>(addresses.size());
  for (const std::uint32_t off : std::set<std::uint32_t>{1, hosts / 4, hosts / 2}) {
    const auto& of_host = addresses[(members_.host + off) % hosts];
    if (off > 0 && !of_host.empty()) asked.push_back(of_host.front());
  }
  if (asked.size() == 1) return;
  const double scale = job_.options.time_scale;
  const auto patience = std::clamp(kGatherings * gathering_, base::slowed(kPatience, scale),
                                   base::slowed(kPatienceMost, scale));
  // Linux answers a host six questions at once, then one a second; one asks for a router.
  const auto short_trips = io::measure_round_trips(
      asked.front(), asked, 0, {.patience = patience, .tries = 2, .ends_in_silence = true});
  // One at a time: several full packets would wait for each other.
  const auto long_trips = io::measure_round_trips(asked.front(), asked, 0,
                                                  {.patience = patience,
                                                   .under_way = 1,
                                                   .ends_in_silence = true,
                                                   .datagram_bytes = datagram_bytes});
  clocks::IdleTimes times;
  if (short_trips && long_trips) {
    times = clocks::idle_times(short_trips.value(), long_trips.value(),
                               share_of_answers(asked.front().family(), datagram_bytes));
  }
  // The farthest bounds windows (docs/adr/0083-the-farthest-peer.md).
  job_.idle_round_trip = times.round_trip;
  job_.frame_time = times.frame;
  if (members_.self != 0) return;
  const auto text = [](base::Nanos time) {
    if (time == 0) return std::string("no known time");
    return fmt::format("{:.3g} ms", static_cast<double>(time) / base::kMillisecond);
  };
  job_.log.info(
      fmt::format("asked {} hosts: {} to another and back, {} at most for a frame on a link",
                  asked.size() - 1, text(times.round_trip), text(times.frame)));
}

void BringUp::set_times(transport::Config& config) const {
  const double mbit_s = io::interface_speed(driver_->endpoint().local(0));
  config.link_time = mbit_s > 0 ? base::frame_time(config.datagram_bytes, mbit_s) : 0;
  if (members_.tuning) return;
  if (job_.idle_round_trip < 0) ask_network(config.datagram_bytes);
  if (job_.idle_round_trip < 0) return;
  config.idle_round_trip = job_.idle_round_trip;
  if (config.link_time > 0) config.packet_time = config.link_time;
  // Interfaces of virtual machines tell any speed. What was measured holds the time of hosts too,
  // so it counts only where it is much longer: timers bear a factor of 16 (transport/delays.h).
  constexpr base::Nanos kMuch = 16;
  if (job_.frame_time > kMuch * config.packet_time) {
    config.packet_time = config.link_time = job_.frame_time;
  }
}

}  // namespace alm::communicator
