// Network cards that handle one direction at a time and prefer what comes in (001 section 3, the
// LANai of Myrinet): a packet that arrives stops the one being sent; that goes on when nothing more
// comes in. Each change of direction costs `turn`. Sending takes `send`, receiving `receive`, of
// the one card, and both what its bytes take at the card's rate; a packet is on the link when the
// card has done with it.
#include <algorithm>

#include "sim/simulator.h"

namespace alm::sim {

// Whether the card can take up a packet to send.
bool Simulator::card_is_free(const HostState& host) const {
  return host.sending == kNone && host.receives_until <= net_.now;
}

// What the bytes of a packet take, either way.
Picos Simulator::card_time(std::uint32_t index) {
  const std::uint64_t rate = options_.card.bit_s;
  return rate == 0 ? 0 : serialization(net_.pool[index].bytes, rate);
}

void Simulator::card_send(std::uint32_t host, std::uint32_t index) {
  HostState& state = net_.hosts[host];
  state.sending = index;
  state.resumes_at = net_.now + (state.sent_last ? 0 : options_.card.turn);
  state.send_ends = state.resumes_at + state.costs_at(net_.now).send + card_time(index);
  net_.queue.push(state.send_ends, EventKind::kCard, host);
}

// The time at which sending would have ended; arrivals may have put it off.
void Simulator::on_card(std::uint32_t host) {
  HostState& state = net_.hosts[host];
  if (state.send_ends > net_.now) {
    net_.queue.push(state.send_ends, EventKind::kCard, host);
    return;
  }
  const std::uint32_t index = state.sending;
  state.sending = kNone;
  state.sent_last = true;
  put_on_link(state, index, net_.now);
  state.pull_pending = false;
  pull(host);
}

void Simulator::card_receive(std::uint32_t host, std::uint32_t index) {
  HostState& state = net_.hosts[host];
  const bool sends = state.sending != kNone;
  Picos begin = net_.now;
  if (state.receives_until > net_.now) {
    begin = state.receives_until;
  } else if (sends ? net_.now >= state.resumes_at : state.sent_last) {
    begin += options_.card.turn;
  }
  state.sent_last = false;
  const Picos left = sends ? state.send_ends - std::max(net_.now, state.resumes_at) : 0;
  state.receives_until = begin + state.costs_at(net_.now).receive + card_time(index);
  if (sends) {
    state.resumes_at = state.receives_until + options_.card.turn;
    state.send_ends = state.resumes_at + left;
  }
  net_.queue.push(state.receives_until, EventKind::kDeliver, host, index);
}

}  // namespace alm::sim
