// What is on its way to one peer, path by path: made only where a rank uses more than one path.
//
// On one path packets stay in order, across paths they do not. So a packet is lost only when
// something sent later by the same path has come, or when its path is silent while another one
// answers: a probe by the path itself got no answer, and one sent later by another path did. What a
// packet that was sent twice proves is not known, and it proves nothing (Karn).
//
// A path that is silent is left alone for 8 probe delays; then a probe tries it, and again after
// twice as long, at most as long as a silent peer is left alone. An answer, or a packet of it that
// came after all, makes it usable at once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/time.h"
#include "transport/path_policy.h"
#include "transport/path_random.h"
#include "transport/windows.h"

namespace alm::transport {

// Packets of one block that have been sent and not been acknowledged.
class Flights {
 public:
  struct Flight {
    std::uint32_t packet = 0;
    std::uint32_t serial = 0;  // order of sending to this peer, all paths and blocks
    base::Nanos sent = 0;
    std::uint8_t path = 0;
    bool resent = false;
    bool lost = false;
  };

  void add(const Flight& flight) { flights_.push_back(flight); }
  // Takes out what the window says has come.
  template <class Delivered>
  void settle(const SendWindow& window, const Delivered& delivered) {
    std::erase_if(flights_, [&](const Flight& flight) {
      const bool come =
          flight.packet < window.acked || (flight.packet - window.acked < kSpanMax &&
                                           window.sacked.has(flight.packet - window.acked));
      if (come) {
        if (!flight.resent) prove(flight.path, flight.serial);
        delivered(flight);
      }
      return come;
    });
  }
  // Everything sent by that path before `serial` has come by now or never will.
  void prove(std::uint8_t path, std::uint32_t serial) {
    if (proved_.size() <= path) proved_.resize(path + 1u, 0);
    proved_[path] = std::max(proved_[path], serial);
  }
  // The receiver has seen this packet, whether it kept it or not.
  void saw(std::uint32_t packet) {
    for (const Flight& flight : flights_) {
      if (flight.packet == packet && !flight.resent) prove(flight.path, flight.serial + 1);
    }
  }
  template <class Lost>
  void mark_lost(const Lost& lost) {
    for (Flight& flight : flights_) {
      if (flight.lost || flight.path >= proved_.size() || flight.serial >= proved_[flight.path]) {
        continue;
      }
      flight.lost = true;
      lost(flight);
    }
  }
  bool empty() const { return flights_.empty(); }
  std::uint32_t resends() const;
  const Flight* first_lost() const;
  std::optional<Flight> take(std::uint32_t packet);
  // The one sent first of those that are not known to be lost.
  const Flight* oldest() const;
  std::size_t bytes() const {
    return flights_.capacity() * sizeof(Flight) + proved_.capacity() * sizeof(std::uint32_t);
  }

 private:
  std::vector<Flight> flights_;        // in the order of sending
  std::vector<std::uint32_t> proved_;  // by path: serials below have come, or are lost
};

class PeerPaths {
 public:
  explicit PeerPaths(const PathSetup& setup);

  // An exchange begins. `planned`: the path that the plan has. A block of few packets stays on one
  // path, `turn` decides which.
  void begin(std::uint32_t packets, std::uint8_t planned, std::uint32_t turn);
  // The running exchange becomes the one before.
  void end();
  void abandon();

  // Of the next packet of the block. A train of `grain` packets stays on one path, unless another
  // peer had its turn meanwhile (`same_train` is false).
  std::uint8_t path_of_train(bool same_train, std::uint32_t grain);
  // For a packet that was lost on `path`.
  std::uint8_t path_to_resend(std::uint8_t path);
  // Of an answer, which is part of no block: drawn; of a rank that sends the peer nothing one path,
  // until the peer does not seem to hear it.
  std::uint8_t path_of_answer();
  // The peer asks again: the next answer takes another path.
  void not_heard() { heard_ = false; }
  void sent(base::Nanos now, bool tail, std::uint32_t packet, std::uint8_t path, bool resent);

  // After an acknowledgement. `evidence`: it tells what was lost. `seen`: the receiver has seen
  // packets below it; 0: it does not say.
  void settle(base::Nanos now, bool tail, const SendWindow& window, bool evidence,
              std::uint32_t seen);
  // The answer to the latest probe has come, and what it acknowledges is settled. `after`: how long
  // one is waited for; `most`: longest rest of a silent path.
  void answered(base::Nanos now, bool tail, base::Nanos after, base::Nanos most);

  // A silent path that has rested: a probe is due.
  std::optional<std::uint8_t> rested(base::Nanos now) const;
  // The path that a probe takes now.
  std::uint8_t path_of_probe(base::Nanos now, bool tail);
  // When what was sent first and is not acknowledged was sent; nothing is on its way: kNever.
  base::Nanos waiting_since(bool tail) const;

  const Flights& flights(bool tail) const { return tail ? tail_ : block_; }
  Flights& flights(bool tail) { return tail ? tail_ : block_; }
  bool is_silent(std::uint8_t path) const { return (silent_ & bit_of(path)) != 0; }
  base::Nanos probed_at() const { return probed_at_; }  // 0: never
  std::uint64_t silences() const { return silences_; }

  // Packets past a gap have come from the peer: whether one more is to be answered at once. Of each
  // so many as there are paths one is, because gaps are the rule where paths differ.
  bool answers_gap() {
    if (++past_gap_ < paths_) return false;
    past_gap_ = 0;
    return true;
  }

  std::size_t bytes() const;

 private:
  PathSet usable() const;
  std::uint8_t path_of_any();
  void answers(std::uint8_t path) { silent_ &= ~bit_of(path); }
  void silence(base::Nanos now, std::uint8_t path, base::Nanos after, base::Nanos most);
  void mark_lost(Flights& flights);
  std::uint32_t paths_;
  std::unique_ptr<PathPolicy> policy_;
  Flights block_, tail_;
  std::uint32_t serial_ = 1;
  std::uint32_t past_gap_ = 0;

  std::optional<std::uint8_t> one_path_;  // of a small block
  std::uint8_t train_path_ = 0;
  std::uint32_t train_sent_ = 0;
  // In turn, every answer to a peer could meet the one path that is dead, and the peer would ask
  // for ever. Who sends nothing never learns which of its paths are dead: of answers that are drawn
  // a part would be lost for good, and whoever has a window of one packet would wait for each.
  RandomPaths drawn_;
  bool heard_ = false;
  bool sends_ = false;
  std::uint8_t answers_by_ = 0;
  std::uint32_t drawn_paths_ = 0;

  PathSet silent_ = 0;
  struct Rest {
    base::Nanos until = 0, length = 0, most = 0;
  };
  std::vector<Rest> rests_;  // by path; empty: none was ever silent
  std::uint64_t silences_ = 0;

  struct Probe {
    bool pending = false, tail = false;
    bool trial = false;      // of a silent path
    std::uint8_t path = 0;   // it was sent by
    std::uint8_t about = 0;  // that path
    std::uint32_t serial = 0, about_serial = 0;
  };
  Probe probe_;
  base::Nanos probed_at_ = 0;
};

}  // namespace alm::transport
