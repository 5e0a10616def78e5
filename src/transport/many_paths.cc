#include "transport/many_paths.h"

#include <cassert>

namespace alm::transport {

ManyPaths::ManyPaths(const Config& config, PeerId self, std::uint32_t peers)
    : self_(self),
      grain_(config.grain_packets),
      assigned_(config.path_rule == paths::PathRule::kAssigned),
      longest_rest_(config.keep_alive) {
  if (config.paths <= 1) return;
  assert(config.paths <= wire::kPathsMax);
  assert(config.reliability == Reliability::kSelectiveRepeat);
  paths_.reserve(peers);
  for (PeerId id = 0; id < peers; ++id) {
    paths_.emplace_back(paths::PathSetup{config.path_rule, config.paths, config.path_batch,
                                         std::uint64_t{self} * peers + id});
  }
}

void ManyPaths::begin(const base::Rounds& rounds, const std::vector<Peer>& peers) {
  if (!any()) return;
  std::vector<std::uint8_t> planned(peers.size(), 0);
  for (std::size_t i = 0; i < rounds.paths.size(); ++i) planned[rounds.send[i]] = rounds.paths[i];
  ++small_turn_;
  for (PeerId id = 0; id < peers.size(); ++id) {
    const bool follows = assigned_ && planned[id] != base::Rounds::kAnyPath;
    const std::uint32_t turn = follows ? planned[id] : small_turn_ + self_ + id;
    paths_[id].begin(peers[id].send.total, planned[id], turn);
  }
}

std::uint8_t ManyPaths::take(base::Nanos now, PeerId id, std::uint32_t packet) {
  const std::uint8_t path = paths_[id].path_of_train(id == train_peer_, grain_);
  train_peer_ = id;
  paths_[id].sent(now, false, packet, path, false);
  return path;
}

std::uint8_t ManyPaths::take_again(base::Nanos now, PeerId id, bool tail, std::uint32_t packet,
                                   bool* silent) {
  const auto flight = paths_[id].flights(tail).take(packet);
  const std::uint8_t before = flight ? flight->path : 0;
  *silent = paths_[id].is_silent(before);
  const std::uint8_t path = paths_[id].path_to_resend(before);
  paths_[id].sent(now, tail, packet, path, true);
  return path;
}

// An acknowledgement of an exchange that its sender has not entered says what is held, and nothing
// of losses: its `echo` and `seen` are 0.
void ManyPaths::settle(base::Nanos now, PeerId id, bool tail, const SendWindow& window,
                       const wire::AckBody* body) {
  const bool evidence = body == nullptr || body->echo != 0 || body->seen != 0;
  paths_[id].settle(
      now, tail, [&](std::uint32_t packet) { return window.has_come(packet); }, evidence,
      body == nullptr ? 0 : body->seen);
}

std::uint64_t ManyPaths::answered(base::Nanos now, PeerId id, bool tail, base::Nanos after) {
  const std::uint64_t before = paths_[id].silences();
  paths_[id].answered(now, tail, after, longest_rest_);
  return paths_[id].silences() - before;
}

}  // namespace alm::transport
