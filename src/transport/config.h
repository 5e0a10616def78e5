// The configuration and the counters of engine and channel.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "base/rounds.h"
#include "base/time.h"
#include "paths/policy.h"
#include "wire/fill.h"
#include "wire/header.h"
#include "wire/seal.h"

namespace alm::transport {

using base::PeerId;  // rank in the set

enum class Reliability { kSelectiveRepeat, kGoBackN };
enum class SendRule { kEither, kReceiveClock, kUnacked };  // the pure ones for study

// By the names that options have. Unknown ones give an error that lists the valid ones.
base::Result<Reliability> parse_reliability(std::string_view name);
base::Result<SendRule> parse_send_rule(std::string_view name);

// As paths::check_paths; and several paths need selective-repeat.
base::Status check_paths(std::uint32_t paths, std::uint32_t batch, Reliability reliability);

struct Config {
  std::uint32_t datagram_bytes = 1472;      // UDP payload of a full packet, header included
  std::uint32_t window_packets = 16;        // W_g, over all peers
  std::uint32_t single_window_packets = 0;  // W_g where all blocks are single packets; 0: the same
  std::uint32_t burst_packets = 0;   // an exchange in which this rank sends no more has no window
  std::uint32_t grain_packets = 1;   // train length g
  base::Nanos packet_time = 12'000;  // one full frame on the host link
  bool knows_rate = false;           // packet_time is from the cluster file, no guess
  // The time from one full frame of a rank to the next, if no one else uses the links and the
  // narrowest one is busy; 0: not known.
  base::Nanos limit_time = 0;
  base::Nanos latency = 0;  // of a full frame to the farthest peer, on an idle network
  // Where a thin or far link is the limit (plan/far.h). `pace`: the time between two full frames;
  // 0: as the window allows. `pace_burst_packets`: a rank that is late may send so many at once.
  // `pace_end_least`: a longer block's short end counts as so much of a full frame at least.
  base::Nanos pace = 0;
  std::uint32_t pace_burst_packets = 1;
  double pace_end_least = 0;
  bool pace_yields = false;          // the pace slows down where much is lost
  bool parities = false;             // .. and blocks get parities (blocks/parity_turns.h)
  base::Nanos round_trip = 0;        // to the farthest peer, latencies of links alone; 0: not known
  std::uint32_t span_packets = 256;  // how far a block may be ahead of its acknowledgements
  wire::Covers covers = wire::Covers::kAll;  // by the checksum
  Reliability reliability = Reliability::kSelectiveRepeat;
  SendRule send_rule = SendRule::kEither;
  // Paths to each peer (paths/policy.h). With one path no policy runs.
  std::uint32_t paths = 1;
  paths::PathRule path_rule = paths::PathRule::kOne;
  std::uint32_t path_batch = 0;  // for bss; 0: a quarter of the paths
  bool yields = true;            // the window yields to others in the queues (clocks/yield.h)
  // The window is sought, from so many packets on up to window_packets: what queues and ways hold
  // is not known. 0: window_packets is known.
  std::uint32_t seeks_from = 0;
  // The same where window_packets is known, from when exchanges have refuted the cluster file on
  // (Engine::distrust_file, clocks/trip_claim.h); 0: it stays.
  std::uint32_t refuted_seeks_from = 0;
  std::uint32_t refuted_window_packets = 0;
  // Larger windows are attempted (clocks/climb.h), with trains of up to so many packets.
  bool climbs = false;
  std::uint32_t train_packets_max = 1;
  base::Nanos link_time = 0;  // one full frame on the host's link, as its interface tells
  // Of a full packet and a short answer, while nobody else sends; 0: not known.
  base::Nanos idle_round_trip = 0;
  bool piggyback_acks = true;  // false, for study: explicit acks alone, none on data
  std::uint32_t retransmit_budget_packets = 4;  // retransmissions outstanding at once, at least
  std::uint64_t early_bytes_max = 8u << 20;     // held for an exchange not yet entered
  // Fixed times (engine.h explains them), for a network at full speed.
  base::Nanos timer_jitter =
      base::kMillisecond;  // least allowance for scheduling and skew per cycle
  base::Nanos timer_jitter_max = 20 * base::kMillisecond;
  // Linux wakes sleepers up to 50 us late (PR_SET_TIMERSLACK), so shorter timers are of no use.
  base::Nanos timer_least = 50 * base::kMicrosecond;
  base::Nanos idle_ack_delay = 25 * base::kMillisecond;
  base::Nanos idle_probe_delay = 100 * base::kMillisecond;
  base::Nanos keep_alive = base::kSecond;
  base::Nanos yield_memory = base::kSecond;  // after so long an idle time a rank no longer yields
  base::Nanos peer_warning = 10 * base::kSecond;
  base::Nanos peer_timeout = 300 * base::kSecond;

  // Adapts the times to a network that is `factor` times slower. The allowance for scheduling grows
  // too, although processors are no slower, so that timers weigh as much as at full speed.
  void slow_down(double factor) {
    for (base::Nanos* time :
         {&timer_jitter, &timer_jitter_max, &timer_least, &idle_ack_delay, &idle_probe_delay,
          &keep_alive, &yield_memory, &peer_warning, &peer_timeout}) {
      *time = base::slowed(*time, factor);
    }
  }
};

struct Counters {
  std::uint64_t data_sent = 0;  // first transmissions
  std::uint64_t data_retransmitted = 0;
  std::uint64_t acks_sent = 0, probes_sent = 0;
  std::uint64_t parities_sent = 0;
  std::uint64_t data_recovered = 0;  // new packets that parities have told
  std::uint64_t data_received = 0;   // new packets
  std::uint64_t duplicates_received = 0;
  std::uint64_t early_held = 0, early_dropped = 0;
  std::uint64_t window_cuts = 0;       // how often the window yielded to others
  std::uint64_t cuts_alone = 0;        // .. to none: at full speed, with equal blocks
  std::uint64_t files_distrusted = 0;  // channels that no longer hold the cluster file for true
  std::uint64_t window_least = 0;      // the smallest window after a cut, in packets; 0: no cut
  std::uint64_t rejected_checksum = 0, rejected_malformed = 0, rejected_stale = 0;
  std::uint64_t path_silences = 0;  // a path did not answer while another did
  wire::FillCount fills;
  // Data packets by path, resends included. It is last because it is not touched with one path.
  std::array<std::uint64_t, wire::kPathsMax> path_loads{};

  Counters& operator+=(const Counters& more) {
    data_sent += more.data_sent;
    data_retransmitted += more.data_retransmitted;
    acks_sent += more.acks_sent;
    probes_sent += more.probes_sent;
    parities_sent += more.parities_sent;
    data_recovered += more.data_recovered;
    data_received += more.data_received;
    duplicates_received += more.duplicates_received;
    early_held += more.early_held;
    early_dropped += more.early_dropped;
    window_cuts += more.window_cuts;
    cuts_alone += more.cuts_alone;
    files_distrusted += more.files_distrusted;
    if (window_least == 0 || (more.window_least > 0 && more.window_least < window_least)) {
      window_least = more.window_least;
    }
    rejected_checksum += more.rejected_checksum;
    rejected_malformed += more.rejected_malformed;
    rejected_stale += more.rejected_stale;
    path_silences += more.path_silences;
    fills += more.fills;
    for (std::size_t path = 0; path < path_loads.size(); ++path) {
      path_loads[path] += more.path_loads[path];
    }
    return *this;
  }
};

// Two ranks of the set do not agree on the size of a block. kUnknown: less is expected than sent.
struct Mismatch {
  static constexpr std::uint64_t kUnknown = ~std::uint64_t{0};
  PeerId from = 0, to = 0;
  std::uint64_t sent = 0, expected = 0;
};

struct PeerFailure {
  PeerId peer = 0;
  base::Nanos silent = 0;
  bool fatal = false;  // false: the warning at peer_warning, once per silence
  // The number of the lost rank for which the peer has given up.
  std::optional<std::uint32_t> told = std::nullopt;
};

}  // namespace alm::transport
