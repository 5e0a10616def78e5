// Where this rank sends by several paths: which one a datagram takes, and what an acknowledgement
// tells of each of them (paths/peer_paths.h).
#include <algorithm>
#include <cassert>

#include "transport/engine.h"

namespace alm::transport {

void Engine::make_paths() {
  if (config_.paths <= 1) return;
  assert(config_.paths <= wire::kPathsMax);
  assert(config_.reliability == Reliability::kSelectiveRepeat);
  paths_.reserve(peers_.size());
  for (PeerId id = 0; id < peers_.size(); ++id) {
    paths_.emplace_back(paths::PathSetup{config_.path_rule, config_.paths, config_.path_batch,
                                         std::uint64_t{self_} * peers_.size() + id});
  }
}

void Engine::begin_paths(const Rounds& rounds) {
  std::vector<std::uint8_t> planned(peers_.size(), 0);
  for (std::size_t i = 0; i < rounds.paths.size(); ++i) planned[rounds.send[i]] = rounds.paths[i];
  ++small_turn_;
  for (PeerId id = 0; id < peers_.size(); ++id) {
    const bool assigned = config_.path_rule == paths::PathRule::kAssigned;
    const std::uint32_t turn = assigned ? planned[id] : small_turn_ + self_ + id;
    paths_[id].begin(peers_[id].send.total, planned[id], turn);
  }
}

// Chooses the path of a packet that is sent for the first time.
void Engine::choose_path(base::Nanos now, Emission* out) {
  if (!many_paths()) return;
  const PeerId id = out->peer;
  paths::PeerPaths& paths = paths_[id];
  out->header.path = paths.path_of_train(id == train_peer_, config_.grain_packets);
  train_peer_ = id;
  paths.sent(now, false, out->header.packet, out->header.path, false);
  ++counters_.path_loads[out->header.path];
  if (paths.rested(now)) queue_probe(id);
}

// Chooses the path of a resend. True: it is resent because its path is silent.
bool Engine::choose_path_again(base::Nanos now, Emission* out, bool tail) {
  paths::PeerPaths& paths = paths_[out->peer];
  const auto flight = paths.flights(tail).take(out->header.packet);
  const std::uint8_t before = flight ? flight->path : 0;
  const bool silent = paths.is_silent(before);
  out->header.path = paths.path_to_resend(before);
  paths.sent(now, tail, out->header.packet, out->header.path, true);
  ++counters_.path_loads[out->header.path];
  return silent;
}

void Engine::choose_path_of_probe(base::Nanos now, Emission* out, bool tail) {
  paths::PeerPaths& paths = paths_[out->peer];
  out->header.path = paths.path_of_probe(now, tail);
}

std::uint32_t Engine::resends_outstanding(PeerId id, const SendWindow& window, bool tail) const {
  return many_paths() ? paths_[id].flights(tail).resends() : window.resends_outstanding();
}

std::uint32_t Engine::next_resend(PeerId id, const SendWindow& window, bool tail) const {
  if (!many_paths()) return window.next_resend();
  const paths::Flights::Flight* lost = paths_[id].flights(tail).first_lost();
  return lost == nullptr ? window.next : lost->packet;
}

// An acknowledgement of an exchange that its sender has not entered says what is held, and nothing
// of losses: its `echo` and `seen` are 0.
void Engine::settle_paths(base::Nanos now, PeerId id, bool tail, const wire::AckBody* body) {
  const SendWindow& window = tail ? asides_[id].tail : peers_[id].send;
  const bool evidence = body == nullptr || body->echo != 0 || body->seen != 0;
  paths_[id].settle(
      now, tail, [&](std::uint32_t packet) { return window.has_come(packet); }, evidence,
      body == nullptr ? 0 : body->seen);
  // The latest probe alone: those before took other paths.
  const bool answers = body != nullptr && body->echo != 0 && body->echo == peers_[id].probe_number;
  if (!answers) return;
  const std::uint64_t before = paths_[id].silences();
  paths_[id].answered(now, tail, probe_delay_min(), config_.keep_alive);
  counters_.path_silences += paths_[id].silences() - before;
}

// Since when the sender's probe timer runs: the last sign of life, or, with several paths, the
// packet that is missed longest, and at least the last probe.
base::Nanos Engine::quiet_since(PeerId id) const {
  const Peer& peer = peers_[id];
  if (!many_paths()) return peer.quiet_since;
  const base::Nanos since =
      std::min(paths_[id].waiting_since(false), paths_[id].waiting_since(true));
  return since == base::kNever ? peer.quiet_since : std::max(since, paths_[id].probed_at());
}

// Whether a probe of the peer is reason to send it one. Over several paths the answer to an earlier
// one may still be on its way, and would be worth nothing once the next one is sent.
bool Engine::asks_back(base::Nanos now, PeerId id) const {
  const Peer& peer = peers_[id];
  if (!many_paths()) {
    base::Nanos wait = config_.round_trip + cycle();
    if (answers_.known()) {
      wait = std::min(wait, std::max(answers_.round_trip(), asides_[id].answered_in));
    }
    return now - peer.quiet_since > wait;
  }
  return now - std::max(peer.quiet_since, paths_[id].probed_at()) >
         backed_off(probe_delay_min(), peer);
}

std::size_t Engine::paths_bytes() const {
  std::size_t bytes = 0;
  for (const paths::PeerPaths& paths : paths_) bytes += paths.bytes();
  return bytes;
}

}  // namespace alm::transport
