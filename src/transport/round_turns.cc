#include "transport/round_turns.h"

namespace alm::transport {

std::size_t RoundTurns::begin(const Rounds& rounds, std::span<const std::uint8_t> withheld,
                              std::vector<Peer>& peers) {
  rounds_ = &rounds;
  const std::size_t count = rounds.count();
  recv_left_.assign(count, 0);
  send_round_.assign(withheld.size(), 0);
  std::size_t partners_most = 0;
  for (std::size_t round = 0; round < count; ++round) {
    for (std::uint32_t i = rounds.recv_begin[round]; i < rounds.recv_begin[round + 1]; ++i) {
      Peer& peer = peers[rounds.recv[i]];
      peer.round = static_cast<std::uint32_t>(round);
      recv_left_[round] += peer.recv.total;
    }
    const std::uint32_t begin = rounds.send_begin[round];
    const std::uint32_t end = rounds.send_begin[round + 1];
    partners_most = std::max<std::size_t>(partners_most, end - begin);
    for (std::uint32_t i = begin; !withheld.empty() && i < end; ++i) {
      send_round_[rounds.send[i]] = static_cast<std::uint32_t>(round);
    }
  }
  return partners_most;
}

void RoundTurns::load(const std::vector<Peer>& peers) {
  turn_.clear();
  withheld_ = 0;
  position_ = 0;
  train_left_ = train_length();
  if (round_ >= recv_left_.size()) return;
  for (std::uint32_t i = rounds_->send_begin[round_]; i < rounds_->send_begin[round_ + 1]; ++i) {
    const Peer& peer = peers[rounds_->send[i]];
    if (peer.send.exhausted()) continue;
    if (peer.withheld) {
      ++withheld_;
    } else {
      turn_.push_back(rounds_->send[i]);
    }
  }
}

}  // namespace alm::transport
