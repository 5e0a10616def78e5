#include "transport/channel.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <unordered_map>

#include "blocks/parity_code.h"

namespace alm::transport {
struct Channel::Impl {
  Impl(const Config& config, Identity id)
      : identity(std::move(id)),
        sealer(identity.key, config.covers),
        engine(config, identity.self, static_cast<std::uint32_t>(identity.remote_set.size())),
        tail_at(identity.remote_set.size()) {}

  struct Held {
    PeerId peer;
    std::uint32_t packet;
    std::uint32_t length;
    std::size_t at;
  };

  void place(PeerId peer, std::uint32_t packet, std::span<const std::byte> payload) const {
    const Sizes& sizes = engine.sizes();
    std::memcpy(exchange.recv.at(peer) + sizes.offset_of(sizes.expects(peer), packet),
                payload.data(), payload.size());
  }

  Identity identity;
  wire::Sealer sealer;
  Engine engine;
  Exchange exchange;

  // Data of the next exchange, as it came.
  std::vector<Held> held;
  std::vector<std::byte> held_bytes;

  void encode(Outgoing& datagram, PeerId peer, wire::Header header) const {
    header.set = identity.remote_set[peer];
    header.source = static_cast<std::uint16_t>(identity.self);
    datagram.peer = peer;
    datagram.path = header.path;
    datagram.head_bytes = wire::kHeaderBytes;
    wire::encode(header, std::span(datagram.head_storage).first<wire::kHeaderBytes>());
  }
  void seal(Outgoing& datagram, std::uint64_t of_exchange) const {
    sealer.seal(std::span(datagram.head_storage).first(datagram.head_bytes), datagram.payload,
                of_exchange);
  }

  // A parity of the running exchange, to be sent.
  std::span<const std::byte> make_parity(const Emission& emission) {
    const Sizes& sizes = engine.sizes();
    const std::uint64_t bytes = sizes.sends(emission.peer);
    const std::byte* block = exchange.send.at(emission.peer);
    std::vector<std::byte>& out = parities.emplace_back(emission.length);
    blocks::make_parity(
        emission.header.packet, sizes.packets_of(bytes),
        [&](std::uint32_t packet) {
          return std::span(block + sizes.offset_of(bytes, packet), sizes.length_of(bytes, packet));
        },
        out);
    return out;
  }
  // Writes what parities tell of a peer's block that has not come.
  void recover(base::Nanos now, PeerId peer) {
    const Sizes& sizes = engine.sizes();
    const std::uint64_t bytes = sizes.expects(peer);
    const blocks::ReceiveWindow& recv = engine.receives(peer);
    std::vector<std::uint32_t> lacking;
    for (std::uint32_t packet = recv.cumulative; packet < recv.total; ++packet) {
      if (!recv.has(packet)) lacking.push_back(packet);
    }
    const auto found = parities_of[peer].solve(
        recv.total, lacking, [&](std::uint32_t packet) -> std::span<const std::byte> {
          if (!recv.has(packet)) return {};
          return {exchange.recv.at(peer) + sizes.offset_of(bytes, packet),
                  sizes.length_of(bytes, packet)};
        });
    if (found.empty()) return;
    for (std::size_t i = 0; i < lacking.size(); ++i) {
      place(peer, lacking[i], std::span(found[i]).first(sizes.length_of(bytes, lacking[i])));
    }
    engine.recovered(now, peer);
  }
  void forget_parities() {
    parities.clear();
    parities_of.clear();
  }

  // Of the running exchange: those that were sent, and those that have come.
  std::deque<std::vector<std::byte>> parities;
  std::unordered_map<PeerId, blocks::Parities> parities_of;

  wire::Fill fill;

  // What was unacknowledged when the caller's buffers were given back. tail_at[peer] is where byte
  // 0 of its block would lie.
  std::vector<std::byte> tail_bytes;
  std::vector<std::ptrdiff_t> tail_at;
};

Channel::Channel(const Config& config, Identity identity)
    : impl_(std::make_unique<Impl>(config, std::move(identity))) {}
Channel::~Channel() = default;
Channel::Channel(Channel&&) noexcept = default;
Channel& Channel::operator=(Channel&&) noexcept = default;

void Channel::start(base::Nanos now, const Exchange& exchange) {
  impl_->exchange = exchange;
  impl_->engine.hurry(exchange.hurries);
  if (exchange.distrusts_file) impl_->engine.distrust_file();
  impl_->engine.start(now, *exchange.rounds, exchange.send.sizes(), exchange.recv.sizes(),
                      exchange.withheld, exchange.reports_arrivals);
  impl_->exchange.withheld = {};
  for (const Impl::Held& held : impl_->held) {
    if (!impl_->engine.replay(held.peer, held.packet, held.length)) continue;
    impl_->place(held.peer, held.packet,
                 std::span(impl_->held_bytes).subspan(held.at, held.length));
  }
  impl_->held.clear();
  impl_->held_bytes.clear();
}

void Channel::make_ready(PeerId peer) { impl_->engine.make_ready(peer); }
bool Channel::take_arrival(PeerId* peer) { return impl_->engine.take_arrival(peer); }
std::size_t Channel::arrivals() const { return impl_->engine.arrivals(); }

bool Channel::complete() const { return impl_->engine.complete(); }

void Channel::release(base::Nanos now) {
  impl_->tail_bytes.clear();
  const Sizes& sizes = impl_->engine.sizes();
  for (PeerId peer = 0; peer < impl_->tail_at.size(); ++peer) {
    const SendWindow& window = impl_->engine.window(peer);
    if (window.acked == window.next) continue;
    const std::uint64_t begin = sizes.offset_of(sizes.sends(peer), window.acked);
    const std::uint64_t end = sizes.offset_of(sizes.sends(peer), window.next);
    const std::byte* block = impl_->exchange.send.at(peer);
    impl_->tail_at[peer] =
        static_cast<std::ptrdiff_t>(impl_->tail_bytes.size()) - static_cast<std::ptrdiff_t>(begin);
    impl_->tail_bytes.insert(impl_->tail_bytes.end(), block + begin, block + end);
  }
  impl_->engine.release(now);
  impl_->forget_parities();
  impl_->exchange = Exchange{};
}

void Channel::abandon(std::optional<std::uint32_t> lost) {
  impl_->engine.abandon(lost);
  impl_->exchange = Exchange{};
  impl_->forget_parities();
  end_fill();
  impl_->held.clear();
  impl_->held_bytes.clear();
}

void Channel::fill(std::uint32_t packets, std::uint32_t bytes) {
  const auto ranks = static_cast<std::uint32_t>(impl_->identity.remote_set.size());
  impl_->fill = wire::Fill(impl_->identity.self, ranks, packets, bytes);
  wire::FillCount& count = impl_->engine.counters().fills;
  ++count.number;
  count.sent = std::uint64_t{packets} * (ranks - 1);
}

void Channel::end_fill() { impl_->fill = {}; }
bool Channel::fills() const { return impl_->fill.any(); }

bool Channel::on_datagram(base::Nanos now, std::span<const std::byte> datagram) {
  Counters& counters = impl_->engine.counters();
  wire::Header header;
  if (wire::decode(datagram, &header) != wire::DecodeError::kNone ||
      header.set != impl_->identity.local_set || header.source == impl_->identity.self ||
      header.source >= impl_->identity.remote_set.size()) {
    ++counters.rejected_malformed;
    return false;
  }
  const std::uint64_t exchange = impl_->engine.numbers().expand(header.exchange);
  if (!impl_->sealer.verify(datagram, exchange)) {
    ++counters.rejected_checksum;
    return false;
  }
  const std::span<const std::byte> payload = datagram.subspan(wire::kHeaderBytes);
  const auto length = static_cast<std::uint32_t>(payload.size());
  switch (impl_->engine.on_packet(now, header, exchange, length, payload)) {
    case Verdict::kPlace:
      impl_->place(header.source, header.packet, payload);
      break;
    case Verdict::kHold:
      impl_->held.push_back({header.source, header.packet, length, impl_->held_bytes.size()});
      impl_->held_bytes.insert(impl_->held_bytes.end(), payload.begin(), payload.end());
      break;
    case Verdict::kParity:
      impl_->parities_of[header.source].add(header.packet, payload);
      break;
    case Verdict::kNothing:
      break;
  }
  if (impl_->engine.recoverable(header.source)) impl_->recover(now, header.source);
  return true;
}

std::size_t Channel::pull(base::Nanos now, std::span<Outgoing> out) {
  std::size_t count = 0;
  Emission emission;
  while (count < out.size() && impl_->engine.next(now, &emission)) {
    Outgoing& datagram = out[count++];
    impl_->encode(datagram, emission.peer, emission.header);
    datagram.payload = {};
    switch (emission.body) {
      case Emission::Body::kControl:
        std::memcpy(&datagram.head_storage[wire::kHeaderBytes], emission.control.data(),
                    emission.control_bytes);
        datagram.head_bytes += emission.control_bytes;
        break;
      case Emission::Body::kParity:
        datagram.payload = impl_->make_parity(emission);
        break;
      case Emission::Body::kBlock:
        datagram.payload = {impl_->exchange.send.at(emission.peer) + emission.offset,
                            emission.length};
        break;
      case Emission::Body::kTail:
        datagram.payload =
            std::span<const std::byte>(impl_->tail_bytes)
                .subspan(static_cast<std::size_t>(impl_->tail_at[emission.peer] +
                                                  static_cast<std::ptrdiff_t>(emission.offset)),
                         emission.length);
        break;
    }
    impl_->seal(datagram, emission.exchange);
  }
  const std::uint64_t exchange = impl_->engine.numbers().entered();
  for (; count < out.size() && impl_->fill.any(); impl_->fill.made()) {
    Outgoing& datagram = out[count++];
    wire::Header header = impl_->fill.header(impl_->engine.counters().fills.number);
    header.exchange = static_cast<std::uint16_t>(exchange);
    impl_->encode(datagram, impl_->fill.peer(), header);
    datagram.payload = impl_->fill.payload();
    impl_->seal(datagram, exchange);
  }
  return count;
}

base::Nanos Channel::deadline() const { return impl_->engine.deadline(); }
base::Nanos Channel::unmoved_until(base::Nanos now) const {
  return impl_->engine.unmoved_until(now);
}
std::uint64_t Channel::at_once_bytes() const { return impl_->engine.at_once_bytes(); }
base::Nanos Channel::frame_time() const { return impl_->engine.frame_time(); }
bool Channel::settled() const { return impl_->engine.settled() && !fills(); }
std::optional<PeerFailure> Channel::check_peers(base::Nanos now) {
  return impl_->engine.check_peers(now);
}
const std::optional<PeerFailure>& Channel::told() const { return impl_->engine.silence().told(); }
void Channel::was_deaf(base::Nanos time) { impl_->engine.silence().was_deaf(time); }
std::optional<Engine::Ahead> Channel::ahead(PeerId peer) const {
  return impl_->engine.attendance().ahead(peer, impl_->engine.numbers());
}

base::Nanos Channel::not_entered_at(PeerId peer) const {
  return impl_->engine.not_entered_at(peer);
}

bool Channel::absent(PeerId peer) const { return impl_->engine.absent(peer); }

void Channel::be_elsewhere(const std::optional<Engine::Elsewhere>& elsewhere) {
  impl_->engine.attendance().be_elsewhere(elsewhere);
}

std::optional<Engine::Elsewhere> Channel::elsewhere(PeerId peer) const {
  return impl_->engine.elsewhere(peer);
}

std::optional<std::uint64_t> Channel::doing(PeerId peer) const {
  return impl_->engine.attendance().doing(peer);
}

void Channel::does(std::uint64_t what) { impl_->engine.attendance().does(what); }
bool Channel::asked() const { return impl_->engine.attendance().asked(); }

std::uint64_t Channel::sends_to(PeerId peer) const { return impl_->exchange.send.size_of(peer); }

const std::optional<Mismatch>& Channel::mismatch() const { return impl_->engine.mismatch(); }
const Counters& Channel::counters() const { return impl_->engine.counters(); }
const Config& Channel::config() const { return impl_->engine.config(); }
const Identity& Channel::identity() const { return impl_->identity; }

}  // namespace alm::transport
