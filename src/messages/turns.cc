#include "messages/turns.h"

#include <algorithm>
#include <utility>

namespace alm::messages {

void MessageTurns::start(const base::Rounds& rounds, std::vector<std::uint64_t> to_send,
                         std::uint64_t to_come, std::uint32_t window) {
  rounds_ = &rounds;
  window_ = window;
  ahead_ = 0;
  to_come_ = to_come;
  to_send_ = std::move(to_send);
  sent_.assign(rounds.send.size(), 0);
  withheld_.assign(rounds.send.size(), 0);
  whole_.assign(rounds.recv.size(), 0);
  round_ = 0;
  begin_round();
}

void MessageTurns::make_ready(base::PeerId peer) {
  const auto& send = rounds_->send;
  const auto found = std::find(send.begin(), send.end(), peer);
  if (found != send.end()) withheld_[static_cast<std::size_t>(found - send.begin())] = 0;
}

void MessageTurns::begin_round() {
  if (over()) return;
  partner_ = rounds_->send_begin[round_];
  receive_at_ = rounds_->recv_begin[round_];
  left_ = 0;
  for (std::size_t i = partner_; i < rounds_->send_begin[round_ + 1]; ++i) left_ += to_send_[i];
}

std::optional<MessageTurns::Turn> MessageTurns::next() {
  const std::size_t begin = rounds_->send_begin[round_];
  const std::size_t end = rounds_->send_begin[round_ + 1];
  for (std::size_t looked = 0; looked < end - begin; ++looked) {
    const std::size_t at = partner_;
    const bool sendable = withheld_[at] == 0 && sent_[at] < to_send_[at];
    if (!sendable || rounds_->interleaved) partner_ = at + 1 < end ? at + 1 : begin;
    if (!sendable) continue;
    --left_;
    if (ahead_ < window_) ++ahead_;
    return Turn{at, sent_[at]++};
  }
  return std::nullopt;
}

void MessageTurns::came() {
  if (ahead_ > 0) --ahead_;
  if (to_come_ > 0) --to_come_;
}

bool MessageTurns::end_round() {
  if (left_ > 0) return false;
  const std::size_t end = rounds_->recv_begin[round_ + 1];
  while (receive_at_ < end && is_whole(receive_at_)) ++receive_at_;
  if (receive_at_ < end) return false;
  ++round_;
  begin_round();
  return true;
}

}  // namespace alm::messages
