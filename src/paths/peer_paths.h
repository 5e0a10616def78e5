// The packets under way to one peer, path by path. Used only where a rank has several paths.
//
// On one path packets stay in order, across paths they do not. So a packet is lost only when one
// sent later by the same path has come, or when its path is silent while another one answers: a
// probe by the path got no answer, and a later one by another path did. A packet that was sent
// twice proves nothing (Karn).
//
// A silent path rests for 8 probe delays; then a probe tries it, and again after twice as long, at
// most as long as a silent peer is left alone. An answer, or a packet of it that comes after all,
// makes it usable at once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/time.h"
#include "paths/policy.h"
#include "paths/random.h"

namespace alm::paths {

// The packets of one block that have been sent and not acknowledged.
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
  // Removes the packets that have come.
  template <class Come, class Delivered>
  void settle(const Come& has_come, const Delivered& delivered) {
    std::erase_if(flights_, [&](const Flight& flight) {
      const bool come = has_come(flight.packet);
      if (come) {
        if (!flight.resent) prove(flight.path, flight.serial);
        delivered(flight);
      }
      return come;
    });
  }
  // Everything sent by that path before `serial` has come or is lost.
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
  // The packet sent first among those not known to be lost.
  const Flight* oldest() const;
  std::size_t bytes() const {
    return flights_.capacity() * sizeof(Flight) + proved_.capacity() * sizeof(std::uint32_t);
  }

 private:
  std::vector<Flight> flights_;        // in the order of sending
  std::vector<std::uint32_t> proved_;  // by path: packets with lower serials have come or are lost
};

class PeerPaths {
 public:
  explicit PeerPaths(const PathSetup& setup);

  // An exchange begins. `planned`: the plan's path, or Rounds::kAnyPath. A block of few packets
  // stays on one path, which `turn` decides.
  void begin(std::uint32_t packets, std::uint8_t planned, std::uint32_t turn);
  // The running exchange ends and becomes the tail.
  void end();
  void abandon();

  // The path of the next packet of the block. A train of `grain` packets stays on one path, unless
  // another peer had its turn meanwhile (`same_train` is false).
  std::uint8_t path_of_train(bool same_train, std::uint32_t grain);
  // The path by which to resend a packet that was lost on `path`.
  std::uint8_t path_to_resend(std::uint8_t path);
  // The path of an answer, which is part of no block: drawn at random. A rank that sends the peer
  // no data keeps to one path until the peer does not seem to hear it.
  std::uint8_t path_of_answer();
  // The peer asks again: the next answer takes another path.
  void not_heard() { heard_ = false; }
  void sent(base::Nanos now, bool tail, std::uint32_t packet, std::uint8_t path, bool resent);

  // An acknowledgement has come. `has_come(packet)`: the packet of the block has come. `evidence`:
  // the acknowledgement tells which packets were lost. `seen`: the receiver has seen the packet
  // before this number; 0: it does not say.
  template <class Come>
  void settle(base::Nanos now, bool tail, const Come& has_come, bool evidence, std::uint32_t seen) {
    Flights& flights = this->flights(tail);
    if (flights.empty()) return;
    flights.settle(has_come, [&](const Flights::Flight& flight) { delivered(now, flight); });
    if (!evidence) return;
    if (seen > 0) flights.saw(seen - 1);
    mark_lost(flights);
  }
  // The answer to the latest probe has come, and what it acknowledges is settled. `after`: how long
  // to wait for an answer; `most`: the longest rest of a silent path.
  void answered(base::Nanos now, bool tail, base::Nanos after, base::Nanos most);

  // A silent path that has rested: a probe of it is due.
  std::optional<std::uint8_t> rested(base::Nanos now) const;
  // The path of a probe that is sent now.
  std::uint8_t path_of_probe(base::Nanos now, bool tail);
  // When the oldest unacknowledged packet was sent; kNever: nothing is under way.
  base::Nanos waiting_since(bool tail) const;

  const Flights& flights(bool tail) const { return tail ? tail_ : block_; }
  Flights& flights(bool tail) { return tail ? tail_ : block_; }
  bool is_silent(std::uint8_t path) const { return (silent_ & bit_of(path)) != 0; }
  base::Nanos probed_at() const { return probed_at_; }  // 0: never
  std::uint64_t silences() const { return silences_; }

  // Whether to answer a packet past a gap at once. With n paths one in n is answered, because gaps
  // are normal where paths differ.
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
  void delivered(base::Nanos now, const Flights::Flight& flight);
  void mark_lost(Flights& flights);

  std::uint32_t paths_;
  std::unique_ptr<PathPolicy> policy_;
  Flights block_, tail_;
  std::uint32_t serial_ = 1;
  std::uint32_t past_gap_ = 0;

  std::optional<std::uint8_t> one_path_;  // the path of a small block
  std::uint8_t train_path_ = 0;
  std::uint32_t train_sent_ = 0;
  // Paths of answers are drawn: taken in turn, every answer to one peer could meet the one dead
  // path, and the peer would ask for ever. A rank that sends no data never learns which of its
  // paths are dead. If it drew a path for each answer, some would always be lost, and a peer with a
  // window of one packet would wait for each of them.
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
    bool trial = false;      // it tries a silent path
    std::uint8_t path = 0;   // by which it was sent
    std::uint8_t about = 0;  // the path it asks about
    std::uint32_t serial = 0, about_serial = 0;
  };
  Probe probe_;
  base::Nanos probed_at_ = 0;
};

}  // namespace alm::paths
