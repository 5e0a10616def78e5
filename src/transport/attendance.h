// Which peers are in an exchange that this rank has not entered, and which have not entered the one
// that it is in. If one peer is both, in two sets of peers, then ranks use these in different
// orders and wait for each other for ever.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/peer_queue.h"
#include "base/time.h"
#include "transport/config.h"
#include "wire/control.h"
#include "wire/exchange_numbers.h"

namespace alm::transport {

class Attendance {
 public:
  // Since when a peer is in an exchange that this rank has not entered.
  struct Ahead {
    base::Nanos since = 0;
    std::uint64_t sends = 0;  // bytes to this rank; 0: not known yet
  };
  // While a rank is in a call but in no exchange of this engine: the number of the call, equal on
  // all ranks, and the bytes it sends to each rank by other means. It is the answer to peers that
  // ask for an exchange that the rank has not entered.
  using Elsewhere = wire::ElsewhereBody;
  // The number of no call (the rank is in none of these peers, and `sends` is what it does instead,
  // in words of the process), and that of a rank that makes no further one.
  static constexpr std::uint64_t kNoCall = 0, kNoFurtherCall = UINT64_MAX;

  explicit Attendance(std::uint32_t peers) : peers_(peers) {}

  void begin() {
    for (Peer& peer : peers_) {
      peer.not_entered_at = 0;
      peer.elsewhere.reset();
      peer.doing.reset();
    }
  }
  void abandon() {
    peers_.assign(peers_.size(), {});
    asking_.clear();
  }

  // Something of an exchange has come that this rank has not entered.
  void came(base::Nanos now, PeerId id, std::uint64_t exchange, std::uint64_t sends) {
    Peer& peer = peers_[id];
    if (peer.ahead_in != exchange + 1) {
      peer.ahead_in = exchange + 1;
      peer.ahead = {now, 0};
    }
    if (sends > 0) peer.ahead.sends = sends;
  }
  std::optional<Ahead> ahead(PeerId id, const wire::ExchangeNumbers& numbers) const {
    const Peer& peer = peers_[id];
    return peer.ahead_in > numbers.entered() ? std::optional(peer.ahead) : std::nullopt;
  }

  // The peer says that it has not entered the running exchange.
  void says_not_entered(base::Nanos now, PeerId id) { peers_[id].not_entered_at = now; }
  // When it said so last; 0: never.
  base::Nanos not_entered_at(PeerId id) const { return peers_[id].not_entered_at; }
  // The latest call counts, whatever order the answers come in: a rank that has been elsewhere in a
  // call is not coming, though it be in none by now.
  void says_elsewhere(PeerId id, const Elsewhere& said) {
    Peer& peer = peers_[id];
    if (said.call == kNoCall) {
      peer.doing = said.sends;
    } else if (!peer.elsewhere || said.call >= peer.elsewhere->call) {
      peer.elsewhere = said;
      peer.doing.reset();
    }
  }
  // The call that the peer has said it is in, in this exchange.
  const std::optional<Elsewhere>& elsewhere(PeerId id) const { return peers_[id].elsewhere; }
  // What it does, if it has said that it is in none.
  const std::optional<std::uint64_t>& doing(PeerId id) const { return peers_[id].doing; }

  // Where this rank is itself.
  void be_elsewhere(const std::optional<Elsewhere>& elsewhere) { own_ = elsewhere; }
  const std::optional<Elsewhere>& own() const { return own_; }
  // What this rank does while it is in no call: told to peers that ask, too.
  void does(std::uint64_t what) { doing_ = {kNoCall, what}; }
  std::optional<Elsewhere> answer() const { return own_ ? own_ : doing_; }
  bool asked() const { return asking_.size() > 0; }
  // The peer asks for the exchange that this rank enters next.
  void asks(PeerId id) {
    if (answer() && asking_.size() < peers_.size()) asking_.push_back(id);
  }
  std::optional<PeerId> take_asking() {
    if (asking_.empty()) return std::nullopt;
    return asking_.take();
  }

  static constexpr std::size_t bytes_per_peer() { return sizeof(Peer); }

 private:
  struct Peer {
    std::uint64_t ahead_in = 0;  // 1 + number of the exchange that `ahead` is about
    Ahead ahead;
    base::Nanos not_entered_at = 0;
    std::optional<Elsewhere> elsewhere;
    std::optional<std::uint64_t> doing;
  };

  base::PeerQueue asking_;
  std::optional<Elsewhere> own_, doing_;
  std::vector<Peer> peers_;
};

}  // namespace alm::transport
