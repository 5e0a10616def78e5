// The receiving half of a connection: what has come, and when to say so.
//
// Data in order are acknowledged every second full segment, or after 40 ms. Segments are
// acknowledged at once when a hole is there or has just been filled, when one comes twice, and for
// the first 16 segments of a connection, after a pause as well: quick acknowledgements, as Linux
// has them, until the host sends data itself so soon after it has received some that the two take
// turns.
//
// A hole is told by SACK ranges, the latest first (RFC 2018), and a segment that has come twice
// before them (RFC 2883). Marks of switches are echoed until the sender says that it has reduced
// (RFC 3168), or segment by segment (RFC 8257, section 3.2).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tcp/config.h"
#include "tcp/segment.h"

namespace alm::tcp {

class Receiver {
 public:
  explicit Receiver(const Config& config) : config_(&config), quick_(config.quick_acks) {}

  // Data have come.
  void take(const Segment& data, base::Nanos now);
  // Whether an acknowledgement is to go at once, with data or alone.
  bool due() const { return early_.has_value() || owed_ > 0; }
  // One of these must go alone, before any data.
  bool must_go_alone() const { return early_.has_value(); }
  // Fills in what a segment acknowledges; `alone` if it holds no data.
  void acknowledge(Segment& out, bool alone);
  // Data of this host leave.
  void data_sent(base::Nanos now);
  base::Nanos deadline() const { return owed_ > 0 ? base::kNever : delayed_until_; }
  void on_timer();  // deadline() has come

  Position received() const { return next_; }  // in order
  std::uint64_t duplicates() const { return duplicates_; }

 private:
  struct Early {
    Position ack = 0;
    bool echo = false;
  };

  void take_in_order(const Segment& data, base::Nanos now);
  void take_apart(const Segment& data);
  void note_mark(const Segment& data);
  void notice_pause(base::Nanos now);
  void be_quick();
  void owe() { ++owed_; }

  const Config* config_;
  Position next_ = 0;
  Position told_ = 0;           // the last acknowledgement
  std::vector<Range> apart_;    // beyond a hole, the latest first
  Range twice_;                 // came twice, not told yet
  std::optional<Early> early_;  // DCTCP: of what came before the marks changed
  base::Nanos delayed_until_ = base::kNever;
  base::Nanos last_came_ = -1;
  std::uint32_t quick_;
  std::uint32_t owed_ = 0;  // acknowledgements to go at once
  std::uint32_t duplicates_ = 0;
  bool turns_ = false;  // data go both ways
  bool echo_ = false;
};

}  // namespace alm::tcp
