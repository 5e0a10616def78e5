// What peers are to be told: acknowledgements that are owed for data, until data carries them or
// their time comes, and those that leave at once.
#pragma once

#include <cstdint>

#include "base/peer_queue.h"
#include "base/time.h"
#include "transport/config.h"
#include "transport/peer.h"
#include "wire/control.h"

namespace alm::transport {

class OwedAcks {
 public:
  // Data of an exchange has come. True: nothing was owed before.
  bool owe(base::Nanos now, Peer* peer, std::uint64_t exchange) {
    peer->owed_exchange = exchange;
    if (peer->owed_since != base::kNever) return false;
    peer->owed_since = now;
    ++owing_;
    return true;
  }
  // The peer is told of all data up to this exchange.
  void pay(Peer* peer, std::uint64_t exchange) {
    if (peer->owed_exchange > exchange || peer->owed_since == base::kNever) return;
    peer->owed_since = base::kNever;
    --owing_;
  }
  // An acknowledgement leaves at once. `echo`: the probe that it answers; 0: none.
  void reply(PeerId id, Peer* peer, Aside* aside, std::uint64_t exchange, std::uint32_t echo) {
    aside->reply_exchange = exchange;
    if (echo != 0) peer->echo = echo;
    if (peer->ack_queued) return;
    peer->ack_queued = true;
    queue_.push_back(id);
  }
  bool queued() const { return !queue_.empty(); }
  PeerId take() { return queue_.take(); }
  void abandon() {
    owing_ = 0;
    queue_.clear();
  }
  std::uint64_t owing() const { return owing_; }  // peers with owed_since set

  // What has come of a block. If one bitmap does not cover it, acks send several in turn; the body
  // says where its bitmap begins.
  static wire::AckBody tell(const ReceiveWindow& recv, std::uint32_t echo, std::uint32_t* turn) {
    const std::uint32_t open = recv.seen - recv.cumulative;
    const std::uint32_t parts = (open + wire::kBitmapBits - 1) / wire::kBitmapBits;
    wire::AckBody body;
    body.echo = echo;
    body.seen = recv.seen;
    body.begin = (parts > 1 ? (*turn)++ % parts : 0) * wire::kBitmapBits;
    body.bitmap = recv.beyond.map(body.begin);
    return body;
  }

 private:
  base::PeerQueue queue_;
  std::uint64_t owing_ = 0;
};

}  // namespace alm::transport
