// Two ranks that do not agree on the size of a block. Neither can go on, and others may wait for
// them: the exchange ends for all. What comes may show it (a packet that is the last for one side
// only); what does not come is asked for, and a probe carries both sizes. A rank that expects
// nothing from another may have left the exchange already: it then ends the next one.
#include "transport/engine.h"

namespace alm::transport {

// What this rank sends to and expects from a peer, while that is known.
std::optional<wire::ProbeBody> Engine::sizes_with(PeerId id, std::uint64_t exchange) const {
  if (running_ && exchange == current()) {
    return wire::ProbeBody{0, send_sizes_.of(id), recv_sizes_.of(id)};
  }
  if (has_tail() && exchange == tail_exchange()) {
    return wire::ProbeBody{0, tail_sizes_.of(id), tail_recv_sizes_.of(id)};
  }
  return std::nullopt;
}

std::uint32_t Engine::expected_length(PeerId id, std::uint32_t packet) const {
  return packet < peers_[id].recv.total ? length_of(recv_sizes_.of(id), packet) : 0;
}

bool Engine::fits_tail(PeerId id, const wire::Header& header) const {
  const std::uint32_t total = packets_of(tail_recv_sizes_.of(id));
  const bool last = (header.flags & wire::kFlagLast) != 0;
  return header.packet < total && last == (header.packet + 1 == total);
}

// Whether the packets that came before this rank entered the exchange fit it; early.total is known
// from the last packet.
bool Engine::fits_early(PeerId id, const ReceiveWindow& early) const {
  const std::uint32_t total = peers_[id].recv.total;
  if (early.seen > total) return false;
  if (early.total != 0) return early.total == total;
  return total == 0 || !early.has(total - 1);
}

// A peer's block is not as expected; the probe to it will show the sizes.
void Engine::dispute(PeerId id, std::uint64_t exchange) {
  ++counters_.rejected_malformed;
  asides_[id].disputed = exchange + 1;
  if (running_ && exchange == current()) in_dispute_ = true;
  queue_probe(id);
}

// False: they do not agree, and this rank has given up.
bool Engine::compare(PeerId id, std::uint64_t exchange, const wire::ProbeBody& theirs) {
  const auto ours = sizes_with(id, exchange);
  if (!ours) return true;
  if (ours->sends != theirs.expects) {
    give_up({self_, id, ours->sends, theirs.expects});
    return false;
  }
  if (ours->expects != theirs.sends) {
    give_up({id, self_, theirs.sends, ours->expects});
    return false;
  }
  return true;
}

void Engine::on_mismatch(const wire::MismatchBody& told) {
  if (told.from >= peers_.size() || told.to >= peers_.size()) {
    ++counters_.rejected_malformed;
    return;
  }
  give_up({told.from, told.to, told.sent, told.expected});
}

void Engine::note_ahead(base::Nanos now, PeerId id, std::uint64_t exchange, std::uint64_t sends) {
  if (exchange < entered_) return;
  Aside& aside = asides_[id];
  if (aside.ahead_in != exchange + 1) {
    aside.ahead_in = exchange + 1;
    aside.ahead = {now, 0};
  }
  if (sends > 0) aside.ahead.sends = sends;
}

std::optional<Engine::Ahead> Engine::ahead(PeerId peer) const {
  const Aside& aside = asides_[peer];
  return aside.ahead_in > entered_ ? std::optional(aside.ahead) : std::nullopt;
}

base::Nanos Engine::not_entered_at(PeerId peer) const {
  return running_ ? asides_[peer].not_entered_at : 0;
}

bool Engine::absent(PeerId peer) const {
  const ReceiveWindow& recv = peers_[peer].recv;
  return not_entered_at(peer) != 0 && recv.seen == 0 && !recv.complete();
}

std::optional<Engine::Elsewhere> Engine::elsewhere(PeerId peer) const {
  return running_ ? asides_[peer].elsewhere : std::nullopt;
}

void Engine::give_up(const Mismatch& mismatch) {
  mismatch_ = mismatch;
  abandon(std::nullopt);
}

}  // namespace alm::transport
