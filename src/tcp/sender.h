// The sending half of a connection.
//
// It sends while fewer segments are under way than the window holds. What is under way is what has
// been sent, less what has been acknowledged (SACK included), less what is taken for lost
// (RFC 6675's pipe). What is lost goes first, then what is new.
//
// A segment is taken for lost
//   - when three segments after it have come (RFC 6675),
//   - with `rack`, when one that was sent later has come and a quarter of a round trip has passed
//     beyond that, or none once three have come (RFC 8985): so a segment that is lost again is
//     found as well,
//   - without SACK at the third acknowledgement that repeats itself, and then one for each partial
//     acknowledgement (RFC 6582),
//   - when nothing is acknowledged for the time-out (RFC 6298): then all that is not SACKed.
// The first loss of a window cuts it; losses until all that was sent by then is acknowledged do not
// cut it again. Until then what goes is in proportion to what comes (RFC 6937, with the slow start
// bound): a burst into the queue that has just overflowed would be lost as well.
//
// With `rack`, a tail that may be lost is probed after two round trips, by new data or the last
// segment (RFC 8985, section 7), once per flight. Where a single segment is under way, the receiver
// may be holding back its acknowledgement: the probe waits for the minimum time-out as well, up to
// where the time-out would come, and goes in its place, as in Linux.
//
// Left out: undoing what turns out to be in vain (F-RTO, Eifel), the
// receiver's window, Nagle's rule (MPI libraries turn it off), pacing, HyStart.
#pragma once

#include <cstdint>

#include "tcp/config.h"
#include "tcp/outstanding.h"
#include "tcp/round_trip.h"
#include "tcp/segment.h"
#include "tcp/window.h"

namespace alm::tcp {

class Sender {
 public:
  struct Counters {
    std::uint32_t segments = 0, resent = 0, timeouts = 0, probes = 0, cuts = 0;
    std::uint32_t waits = 0;  // time-outs, and probes that waited as long
  };

  explicit Sender(const Config& config) : config_(&config), window_(config) {}

  // The handshake took so long; without it the first time-out is `rto_first`.
  void established(base::Nanos round_trip) { round_trip_.measure(round_trip); }
  void write(std::uint64_t bytes) { written_ += bytes; }
  bool may_send() const;
  // The next segment. Precondition: may_send().
  Segment next(base::Nanos now);
  // An acknowledgement has come, alone or with data.
  void acknowledged(const Segment& with, base::Nanos now);
  base::Nanos deadline() const { return deadline_; }  // kNever: none
  void on_timer(base::Nanos now);                     // deadline() has come

  Position written() const { return written_; }
  Position sent() const { return next_; }
  Position first_unacknowledged() const { return first_; }
  const Window& window() const { return window_; }
  const RoundTrip& round_trip() const { return round_trip_; }
  const Outstanding& outstanding() const { return outstanding_; }
  const Counters& counters() const { return counters_; }
  bool in_recovery() const { return state_ != State::kOpen; }

 private:
  enum class State : std::uint8_t { kOpen, kRecovery, kTimeout };
  enum class Timer : std::uint8_t { kNone, kTimeout, kProbe, kReordering };

  // What one acknowledgement told.
  struct News {
    std::uint32_t acknowledged = 0, sacked = 0;
    std::uint32_t fresh = 0;      // of those acknowledged, not SACKed before
    std::uint32_t delivered = 0;  // seen for the first time
    Position advanced = 0;        // bytes
    bool measured = false;
  };

  bool new_data_left() const { return next_ < written_; }
  std::uint32_t under_way() const;
  void pace_recovery(const News& news, bool lost_more);
  void take_cumulative(Position ack, base::Nanos now, News& news);
  void take_sacks(const Segment& with, base::Nanos now, News& news);
  void delivered(const Sent& one, base::Nanos now, News& news);
  void take_marks(const Segment& with, const News& news);
  void find_losses(const Segment& with, const News& news, base::Nanos now);
  void find_by_count();
  void find_by_time(base::Nanos now);
  void find_without_sack(const Segment& with, const News& news);
  void end_probe(const Segment& with);
  void enter_recovery();
  void end_recovery();
  void grow(const News& news, base::Nanos now);
  void arm(base::Nanos now);
  void time_out(base::Nanos now);
  void send_probe();
  Segment send_new(base::Nanos now);
  Segment send_again(Sent& one, base::Nanos now);

  const Config* config_;
  Position first_ = 0, next_ = 0, written_ = 0;
  Position recover_ = 0;  // recovery ends when all before it is acknowledged
  Outstanding outstanding_;
  Window window_;
  RoundTrip round_trip_;
  Counters counters_;
  base::Nanos deadline_ = base::kNever;
  base::Nanos quiet_since_ = 0;  // the time-out counts from here
  base::Nanos last_sent_ = 0;
  // RACK: of what has come, what was sent last.
  base::Nanos rack_at_ = -1, rack_round_trip_ = 0, reordering_at_ = base::kNever;
  Position rack_end_ = 0;
  Position probe_end_ = 0;  // the flight that was probed ends here; 0: none
  Position round_end_ = 0;  // of this window of data
  Position marks_end_ = 0;  // marks in what was sent before cut no more
  std::uint64_t round_acknowledged_ = 0, round_marked_ = 0;  // DCTCP: bytes
  // Segments in the recovery: under way when it began, come since, sent since, and allowed now.
  std::uint32_t flight_ = 0, come_ = 0, gone_ = 0, allowed_ = 0;
  std::uint32_t most_ = 0;      // segments under way at once, in this window of data
  std::uint32_t repeated_ = 0;  // without SACK: acknowledgements that repeat themselves
  std::uint32_t backoff_ = 0;
  State state_ = State::kOpen;
  Timer timer_ = Timer::kNone;
  bool full_ = false;      // the window held the sender back, in this window of data
  bool head_due_ = false;  // the first loss goes whatever is under way
  bool probe_due_ = false;
  bool probe_was_new_ = false;  // the probe was new data
  bool reduced_due_ = false;    // tells the receiver that the window was cut
};

}  // namespace alm::tcp
