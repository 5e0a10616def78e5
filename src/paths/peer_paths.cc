#include "paths/peer_paths.h"

#include <algorithm>

namespace alm::paths {
namespace {

// A smaller block gives no estimate of a path (004, 4.3.2), and its last packet decides.
constexpr std::uint32_t kSmallPackets = 8;
constexpr base::Nanos kRestDelays = 8;
// Every kDrawnToAny-th path that is drawn may be a silent one.
constexpr std::uint32_t kDrawnToAny = 8;

}  // namespace

std::uint32_t Flights::resends() const {
  return static_cast<std::uint32_t>(
      std::count_if(flights_.begin(), flights_.end(),
                    [](const Flight& flight) { return flight.resent && !flight.lost; }));
}

const Flights::Flight* Flights::first_lost() const {
  const auto found = std::find_if(flights_.begin(), flights_.end(),
                                  [](const Flight& flight) { return flight.lost; });
  return found == flights_.end() ? nullptr : &*found;
}

const Flights::Flight* Flights::oldest() const {
  const auto found = std::find_if(flights_.begin(), flights_.end(),
                                  [](const Flight& flight) { return !flight.lost; });
  return found == flights_.end() ? nullptr : &*found;
}

std::optional<Flights::Flight> Flights::take(std::uint32_t packet) {
  const auto found = std::find_if(flights_.begin(), flights_.end(),
                                  [&](const Flight& flight) { return flight.packet == packet; });
  if (found == flights_.end()) return std::nullopt;
  const Flight flight = *found;
  flights_.erase(found);
  return flight;
}

PeerPaths::PeerPaths(const PathSetup& setup)
    : paths_(setup.paths), policy_(make_path_policy(setup)), drawn_(setup) {}

void PeerPaths::begin(std::uint32_t packets, std::uint8_t planned, std::uint32_t turn) {
  train_sent_ = 0;
  past_gap_ = 0;
  sends_ = packets > 0;
  const bool any = planned == base::Rounds::kAnyPath;
  policy_->begin(any ? planned : static_cast<std::uint8_t>(planned % paths_));
  one_path_.reset();
  if (packets > kSmallPackets) return;
  one_path_ = static_cast<std::uint8_t>(turn % paths_);
}

void PeerPaths::end() {
  tail_ = std::move(block_);
  block_ = Flights{};
}

void PeerPaths::abandon() {
  block_ = tail_ = Flights{};
  probe_ = {};
}

PathSet PeerPaths::usable() const {
  const PathSet all = all_paths(paths_);
  return silent_ == all ? all : all & ~silent_;
}

std::optional<std::uint8_t> PeerPaths::rested(base::Nanos now) const {
  if (silent_ == 0) return std::nullopt;
  for (std::size_t i = 0; i < rests_.size(); ++i) {
    const auto path = static_cast<std::uint8_t>(i);
    if (is_silent(path) && now >= rests_[i].until) return path;
  }
  return std::nullopt;
}

std::uint8_t PeerPaths::path_of_train(bool same_train, std::uint32_t grain) {
  const PathSet set = usable();
  const bool goes_on =
      same_train && train_sent_ > 0 && train_sent_ < grain && (set & bit_of(train_path_)) != 0;
  if (!goes_on) {
    train_sent_ = 0;
    if (one_path_) {
      if ((set & bit_of(*one_path_)) == 0) one_path_ = next_path(set, *one_path_);
      train_path_ = *one_path_;
    } else {
      train_path_ = policy_->choose(set);
    }
  }
  ++train_sent_;
  return train_path_;
}

std::uint8_t PeerPaths::path_to_resend(std::uint8_t path) {
  const PathSet set = usable();
  const PathSet others = set & ~bit_of(path);
  return next_path(others != 0 ? others : set, path);
}

std::uint8_t PeerPaths::path_of_any() {
  const bool any = ++drawn_paths_ % kDrawnToAny == 0;
  return drawn_.choose(any ? all_paths(paths_) : usable());
}

// A path that counts as silent may be the only good one: it is drawn now and then, and kept if the
// peer hears it.
std::uint8_t PeerPaths::path_of_answer() {
  if (sends_) return path_of_any();
  if (!heard_) {
    const bool any = ++drawn_paths_ % kDrawnToAny == 0;
    const PathSet set = any ? all_paths(paths_) : usable();
    const PathSet others = set & ~bit_of(answers_by_);
    answers_by_ = drawn_.choose(others != 0 ? others : set);
    heard_ = true;
  }
  return answers_by_;
}

void PeerPaths::sent(base::Nanos now, bool tail, std::uint32_t packet, std::uint8_t path,
                     bool resent) {
  flights(tail).add({packet, serial_++, now, path, resent, false});
  policy_->sent(path);
}

void PeerPaths::delivered(base::Nanos now, const Flights::Flight& flight) {
  if (flight.resent) {
    if (!flight.lost) policy_->gone(flight.path);
    return;
  }
  answers(flight.path);
  if (!flight.lost) policy_->delivered(flight.path, now - flight.sent);
}

void PeerPaths::mark_lost(Flights& flights) {
  flights.mark_lost([this](const Flights::Flight& flight) {
    if (!is_silent(flight.path)) policy_->lost(flight.path);
  });
}

void PeerPaths::answered(base::Nanos now, bool tail, base::Nanos after, base::Nanos most) {
  if (!probe_.pending || probe_.tail != tail) return;
  probe_.pending = false;
  Flights& flights = this->flights(tail);
  flights.prove(probe_.path, probe_.serial);
  answers(probe_.path);
  if (probe_.about != probe_.path) {
    flights.prove(probe_.about, probe_.about_serial);
    if (!is_silent(probe_.about)) silence(now, probe_.about, after, most);
  }
  mark_lost(flights);
}

std::uint8_t PeerPaths::path_of_probe(base::Nanos now, bool tail) {
  const Flights::Flight* oldest = flights(tail).oldest();
  Probe next{.pending = true, .tail = tail, .serial = serial_, .about_serial = serial_};
  // Not twice in a row: what is missed is to be asked for, too.
  const auto path = probe_.trial ? std::nullopt : rested(now);
  if (path) {
    next.trial = true;
    next.path = next.about = *path;
    Rest& rest = rests_[*path];
    rest.length = std::min(2 * rest.length, rest.most);
    rest.until = now + rest.length;
  } else if (oldest == nullptr) {
    next.path = next.about = path_of_any();
  } else {
    next.path = next.about = oldest->path;
    const bool again = probe_.pending && probe_.tail == tail && probe_.about == oldest->path &&
                       probe_.about_serial > oldest->serial;
    if (again) {
      // By all in turn: a probe may be lost as well as a path.
      next.about_serial = probe_.about_serial;
      next.path = next_path(all_paths(paths_), probe_.path);
    } else if (is_silent(oldest->path)) {
      const PathSet others = all_paths(paths_) & ~bit_of(oldest->path);
      const PathSet answering = others & ~silent_;
      next.path = next_path(answering != 0 ? answering : others, oldest->path);
    }
  }
  probe_ = next;
  probed_at_ = now;
  return probe_.path;
}

void PeerPaths::silence(base::Nanos now, std::uint8_t path, base::Nanos after, base::Nanos most) {
  if (rests_.empty()) rests_.resize(paths_);
  const base::Nanos length = kRestDelays * after;
  rests_[path] = {now + length, length, std::max(length, most)};
  silent_ |= bit_of(path);
  if (path == answers_by_) heard_ = false;
  ++silences_;
  policy_->timed_out(path);
}

base::Nanos PeerPaths::waiting_since(bool tail) const {
  const Flights::Flight* oldest = flights(tail).oldest();
  return oldest == nullptr ? base::kNever : oldest->sent;
}

std::size_t PeerPaths::bytes() const {
  constexpr std::size_t kPolicyBytes = 256;  // about
  return sizeof(*this) + kPolicyBytes + block_.bytes() + tail_.bytes() +
         rests_.capacity() * sizeof(Rest);
}

}  // namespace alm::paths
