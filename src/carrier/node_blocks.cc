#include "carrier/node_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "carrier/slices.h"

namespace alm::carrier {
namespace {

static_assert(std::is_trivially_copyable_v<NodeVerdict> &&
              kVerdictBytes == node::kMessageHeadBytes);

constexpr std::uint64_t kWord = sizeof(std::uint64_t);
// Beside the slabs a host needs: it has enough for several leaders.
constexpr std::uint64_t kShares = std::uint64_t{1} << 63;

}  // namespace

NodeBlocks::NodeBlocks(node::Node& node, const plan::Placement& placement, std::uint32_t self,
                       NodeNetwork network, std::uint64_t call, const transport::ConstBlocks& send,
                       const transport::MutableBlocks& recv)
    : node_(node),
      placement_(placement),
      self_(self),
      host_(placement.host_of[self]),
      network_(network),
      call_(call),
      send_(send),
      recv_(recv),
      sizes_(*this),
      data_(*this) {}

std::uint64_t NodeBlocks::slabs() const { return node_.memory().head().slabs; }
std::uint32_t NodeBlocks::leaders() const { return node_.memory().head().leaders; }
std::optional<std::uint32_t> NodeBlocks::lost() const { return lost_by(*network_.group); }

// Where the words for or from a host begin: one word, then a size for each pair of ranks, in the
// order of the messages.
std::uint64_t NodeBlocks::header_at(std::uint32_t host) const {
  return host + std::uint64_t{placement_.count(host_)} * placement_.first[host];
}

std::uint64_t NodeBlocks::header_words(std::uint32_t host) const {
  return 1 + std::uint64_t{placement_.count(host_)} * placement_.count(host);
}

void NodeBlocks::Sizes::copy_in(std::uint64_t, std::byte*) {
  const auto& memory = of_.node_.memory();
  std::copy(of_.send_.size.begin(), of_.send_.size.end(),
            memory.sizes(of_.call_, true, memory.local_rank()).begin());
  std::copy(of_.recv_.size.begin(), of_.recv_.size.end(),
            memory.sizes(of_.call_, false, memory.local_rank()).begin());
}

base::Status NodeBlocks::Sizes::exchange(std::uint64_t, std::byte*, std::byte*) {
  const auto& memory = of_.node_.memory();
  const plan::Placement& placement = of_.placement_;
  const auto out = memory.headers(true);
  const auto in = memory.headers(false);
  const std::uint64_t enough = kSharedBytesMin * (placement.hosts() - 1);
  const bool shares = of_.network_.leaders > 1 && of_.most_of_host() >= enough;
  const std::uint64_t needed = of_.slabs_needed() | (shares ? kShares : 0);
  std::vector<std::uint64_t> at, bytes;
  std::uint64_t next = 0;
  for (std::uint32_t host = 0; host < placement.hosts(); ++host) {
    const bool partner = of_.is_partner(host);
    const auto begin = in.begin() + static_cast<std::ptrdiff_t>(of_.header_at(host));
    if (!partner) std::fill_n(begin, of_.header_words(host), 0);  // nothing comes from there
    at.push_back(kWord * of_.header_at(host));
    bytes.push_back(partner ? kWord * of_.header_words(host) : 0);
    out[next++] = needed;
    for (const std::uint32_t to : placement.ranks[host]) {
      for (std::uint32_t origin = 0; origin < placement.count(of_.host_); ++origin) {
        out[next++] = memory.sizes(of_.call_, true, origin)[to];
      }
    }
  }
  const std::uint64_t own = of_.header_at(of_.host_);
  std::copy_n(out.begin() + static_cast<std::ptrdiff_t>(own), of_.header_words(of_.host_),
              in.begin() + static_cast<std::ptrdiff_t>(own));
  transport::Exchange exchange;
  exchange.send = {std::as_bytes(out).data(), 0, 0, at, bytes};
  exchange.recv = {std::as_writable_bytes(in).data(), 0, 0, at, bytes};
  if (auto done = of_.network_.group->run(exchange); !done) return done;
  std::uint64_t slabs = 1;
  std::uint64_t shared = 0;
  for (std::uint32_t host = 0; host < placement.hosts(); ++host) {
    const std::uint64_t told = in[of_.header_at(host)];
    slabs = std::max(slabs, told & ~kShares);
    shared |= told & kShares;
  }
  of_.verdict_ = of_.judge();
  memory.head().slabs = slabs;
  memory.head().leaders = shared != 0 ? of_.network_.leaders : 1;
  memory.head().differs = of_.verdict_.differs;
  return {};
}

// Bytes that the ranks of this host send, or expect, whichever is more.
std::uint64_t NodeBlocks::most_of_host() const {
  const auto& memory = node_.memory();
  std::uint64_t send = 0;
  std::uint64_t recv = 0;
  for (std::uint32_t place = 0; place < placement_.count(host_); ++place) {
    const auto sent = memory.sizes(call_, true, place);
    const auto expected = memory.sizes(call_, false, place);
    for (std::uint32_t rank = 0; rank < placement_.rank_count(); ++rank) {
      send += sent[rank];
      recv += expected[rank];
    }
  }
  return std::max(send, recv);
}

// Rounding may add a byte to every piece.
std::uint64_t NodeBlocks::slabs_needed() const {
  const std::uint64_t blocks = room(node_.memory().shape(), placement_);
  return (most_of_host() + blocks - 1) / blocks;
}

// On the fullest host, so that all hosts know alike.
std::uint64_t NodeBlocks::room(const node::NodeShape& shape, const plan::Placement& placement) {
  const std::uint64_t blocks = std::uint64_t{placement.most()} * placement.rank_count();
  return shape.slab_bytes - blocks - kVerdictBytes * placement.hosts();
}

NodeVerdict NodeBlocks::judge() const {
  const auto told = node_.memory().headers(false);
  for (std::uint32_t host = 0; host < placement_.hosts(); ++host) {
    std::uint64_t next = header_at(host) + 1;
    for (std::uint32_t place = 0; place < placement_.count(host_); ++place) {
      const auto expected = node_.memory().sizes(call_, false, place);
      for (const std::uint32_t from : placement_.ranks[host]) {
        const std::uint64_t sent = told[next++];
        if (sent == expected[from]) continue;
        return {1, from, placement_.ranks[host_][place], 0, sent, expected[from]};
      }
    }
  }
  return {};
}

base::Error NodeBlocks::disagreement(const NodeVerdict& verdict) const {
  const auto known = [&](std::uint32_t rank) {
    return rank < placement_.rank_count() ? node_.name(rank) : fmt::format("rank {}", rank);
  };
  return base::bad_input(fmt::format("{} sends {} bytes to {}, which expects {} bytes",
                                     known(verdict.from), verdict.sent, known(verdict.to),
                                     verdict.expected));
}

// Whether messages go to that host and come from there. All ranks of a host know alike, once their
// sizes are in its memory.
bool NodeBlocks::is_partner(std::uint32_t host) const {
  if (host == host_ || !network_.partners_only) return true;
  for (std::uint32_t place = 0; place < placement_.count(host_); ++place) {
    const auto sent = node_.memory().sizes(call_, true, place);
    const auto expected = node_.memory().sizes(call_, false, place);
    for (const std::uint32_t peer : placement_.ranks[host]) {
      if (sent[peer] != 0 || expected[peer] != 0) return true;
    }
  }
  return false;
}

NodeBlocks::Piece NodeBlocks::piece(std::uint64_t size, std::uint64_t slab) const {
  const std::uint64_t each = (size + slabs() - 1) / slabs();
  const std::uint64_t begin = std::min(size, slab * each);
  return {begin, std::min(size, begin + each) - begin};
}

// A rank's own block does not travel.
NodeBlocks::Layout NodeBlocks::sent(std::uint64_t slab) const {
  Layout layout;
  layout.piece_at.resize(placement_.rank_count());
  std::uint64_t at = 0;
  for (std::uint32_t host = 0; host < placement_.hosts(); ++host) {
    const std::uint64_t begin = at;
    if (slab == 0 && host != host_ && is_partner(host)) at += kVerdictBytes;
    for (const std::uint32_t to : placement_.ranks[host]) {
      for (std::uint32_t place = 0; place < placement_.count(host_); ++place) {
        const std::uint32_t from = placement_.ranks[host_][place];
        const std::uint64_t size = node_.memory().sizes(call_, true, place)[to];
        if (from == to) continue;
        if (from == self_) layout.piece_at[to] = at;
        at += piece(size, slab).bytes;
      }
    }
    layout.message_at.push_back(begin);
    layout.message_bytes.push_back(at - begin);
  }
  return layout;
}

// As the senders have said. The host's own blocks lie where they were put.
NodeBlocks::Layout NodeBlocks::received(std::uint64_t slab) const {
  Layout layout;
  layout.piece_at.resize(placement_.rank_count());
  const auto told = node_.memory().headers(false);
  const auto own = sent(slab);
  std::uint64_t at = 0;
  for (std::uint32_t host = 0; host < placement_.hosts(); ++host) {
    const bool inside = host == host_;
    const std::uint64_t begin = at;
    std::uint64_t place_at = inside ? own.message_at[host] : at;
    if (slab == 0 && !inside && is_partner(host)) place_at += kVerdictBytes;
    std::uint64_t next = header_at(host) + 1;
    for (const std::uint32_t to : placement_.ranks[host_]) {
      for (const std::uint32_t from : placement_.ranks[host]) {
        const std::uint64_t size = told[next++];
        if (from == to) continue;
        if (to == self_) layout.piece_at[from] = place_at;
        place_at += piece(size, slab).bytes;
      }
    }
    if (!inside) at = place_at;
    layout.message_at.push_back(begin);
    layout.message_bytes.push_back(at - begin);
  }
  return layout;
}

void NodeBlocks::Data::copy_in(std::uint64_t slab, std::byte* send) {
  const Layout layout = of_.sent(slab);
  for (std::uint32_t to = 0; to < of_.placement_.rank_count(); ++to) {
    const Piece piece = of_.piece(of_.send_.size[to], slab);
    if (to == of_.self_ || piece.bytes == 0) continue;
    std::memcpy(send + layout.piece_at[to], of_.send_.base + of_.send_.displacement[to] + piece.at,
                piece.bytes);
  }
}

// The host leader puts the verdict in and looks at those that come. If sizes differ it ends the
// call for all leaders. The other leaders only leave room for the verdicts.
base::Status NodeBlocks::Data::exchange(std::uint64_t slab, std::byte* send, std::byte* recv) {
  Layout out = of_.sent(slab);
  Layout in = of_.received(slab);
  const std::uint32_t hosts = of_.placement_.hosts();
  const bool judges = slab == 0 && of_.node_.is_host_leader();
  for (std::uint32_t host = 0; judges && host < hosts; ++host) {
    if (host == of_.host_ || !of_.is_partner(host)) continue;
    std::memcpy(send + out.message_at[host], &of_.verdict_, kVerdictBytes);
  }
  // Messages may need more room than there is. Each fits by itself, and nobody will read them.
  if (of_.node_.memory().head().differs != 0) {
    std::fill(in.message_at.begin(), in.message_at.end(), 0);
  }
  out.message_bytes[of_.host_] = in.message_bytes[of_.host_] = 0;
  const std::vector<std::uint64_t> heads = in.message_at;
  if (auto done = of_.carry(out, in, send, recv); !done) return done;
  if (!judges) return {};
  if (of_.verdict_.differs != 0) return of_.disagreement(of_.verdict_);
  for (std::uint32_t host = 0; host < hosts; ++host) {
    if (host == of_.host_ || !of_.is_partner(host)) continue;
    NodeVerdict verdict;
    std::memcpy(&verdict, recv + heads[host], kVerdictBytes);
    if (verdict.differs != 0) return of_.disagreement(verdict);
  }
  return {};
}

base::Status NodeBlocks::carry(Layout& out, Layout& in, std::byte* send, std::byte* recv) const {
  const bool shared = leaders() > 1;
  if (shared) {
    const Slice own{node_.local_rank(), leaders(), network_.group->packet_bytes()};
    take_slices(own, out.message_at, out.message_bytes);
    take_slices(own, in.message_at, in.message_bytes);
  }
  transport::Exchange exchange;
  exchange.send = {send, 0, 0, out.message_at, out.message_bytes};
  exchange.recv = {recv, 0, 0, in.message_at, in.message_bytes};
  if (network_.partners_only) return network_.group->run(exchange);  // nothing is told to others
  if (auto* counts = shared ? network_.of_slices : network_.counts; counts != nullptr) {
    if (auto known = counts->prepare(out.message_bytes, in.message_bytes); !known) return known;
    exchange.rounds = &counts->rounds();
  }
  return shared ? network_.group->run_shared(exchange) : network_.group->run(exchange);
}

void NodeBlocks::Data::copy_out(std::uint64_t slab, const std::byte* send, const std::byte* recv) {
  const Layout layout = of_.received(slab);
  for (std::uint32_t from = 0; from < of_.placement_.rank_count(); ++from) {
    const Piece piece = of_.piece(of_.recv_.size[from], slab);
    if (from == of_.self_ || piece.bytes == 0) continue;
    const std::byte* slab_of = of_.placement_.host_of[from] == of_.host_ ? send : recv;
    std::memcpy(of_.recv_.base + of_.recv_.displacement[from] + piece.at,
                slab_of + layout.piece_at[from], piece.bytes);
  }
}

}  // namespace alm::carrier
