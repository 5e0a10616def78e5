#include "carrier/node_exchange.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "carrier/node_blocks.h"
#include "carrier/slices.h"
#include "node/node_slabs.h"

namespace alm::carrier {
namespace {

constexpr std::uint64_t kPieceUnit = 64;

struct Piece {
  std::uint64_t at, bytes;
};

// The blocks of a rank, of which a slab has a piece each.
struct User {
  const std::byte* send;
  std::byte* recv;
  std::uint64_t bytes, piece;

  Piece piece_of(std::uint64_t slab) const {
    const std::uint64_t begin = slab * piece;
    return {begin, std::min(piece, bytes - begin)};
  }
};

class EqualBlocks final : public node::SlabData {
 public:
  // Shared by `leaders`, if they are several.
  EqualBlocks(const plan::Placement& placement, std::uint32_t self, UdpGroup* group,
              const User& user, std::optional<std::size_t> combining, std::uint32_t leaders)
      : placement_(placement),
        self_(self),
        host_(placement.host_of[self]),
        group_(group),
        user_(user),
        combining_(combining),
        leaders_(leaders) {}

  void copy_in(std::uint64_t slab, std::byte* send) override {
    const Piece piece = user_.piece_of(slab);
    const std::uint64_t here = placement_.count(host_);
    std::uint64_t block = placement_.local_rank[self_];
    for (const auto& ranks : placement_.ranks) {
      for (const std::uint32_t to : ranks) {
        if (to != self_) {
          std::memcpy(send + block * piece.bytes, user_.send + to * user_.bytes + piece.at,
                      piece.bytes);
        }
        block += here;
      }
    }
  }

  base::Status exchange(std::uint64_t slab, std::byte* send, std::byte* recv) override {
    const std::uint64_t here = placement_.count(host_);
    const std::uint64_t bytes = user_.piece_of(slab).bytes;
    std::vector<std::uint64_t> at, sizes, weights;
    for (std::uint32_t host = 0; host < placement_.hosts(); ++host) {
      at.push_back(here * placement_.first[host] * bytes);
      sizes.push_back(here * placement_.count(host) * bytes);
      weights.push_back(placement_.count(host));
    }
    if (leaders_ > 1) take_slices(own_slice(), at, sizes);
    const transport::ConstBlocks out{send, 0, 0, at, sizes};
    const transport::MutableBlocks in{recv, 0, 0, at, sizes};
    if (combining_) {
      if (!placement_.equal()) return group_->run_combining(*combining_, out, in, {bytes, weights});
      const std::uint64_t block = here * here * bytes;
      return group_->run_combining(*combining_, {send, block, block}, {recv, block, block},
                                   {.each = block});
    }
    transport::Exchange exchange;
    exchange.send = out;
    exchange.recv = in;
    return leaders_ > 1 ? group_->run_shared(exchange) : group_->run(exchange);
  }

  std::optional<std::uint32_t> lost() const override { return lost_by(*group_); }

  void copy_out(std::uint64_t slab, const std::byte* send, const std::byte* recv) override {
    const Piece piece = user_.piece_of(slab);
    const std::uint64_t here = placement_.count(host_);
    for (std::uint32_t host = 0; host < placement_.hosts(); ++host) {
      const std::uint64_t count = placement_.count(host);
      const std::uint64_t block =
          here * placement_.first[host] + placement_.local_rank[self_] * count;
      const std::byte* from_host = (host == host_ ? send : recv) + block * piece.bytes;
      for (const std::uint32_t from : placement_.ranks[host]) {
        if (from != self_) {
          std::memcpy(user_.recv + from * user_.bytes + piece.at, from_host, piece.bytes);
        }
        from_host += piece.bytes;
      }
    }
  }

 private:
  Slice own_slice() const {
    return {placement_.local_rank[self_], leaders_, group_->packet_bytes()};
  }

  const plan::Placement& placement_;
  std::uint32_t self_, host_;
  UdpGroup* group_;
  User user_;
  std::optional<std::size_t> combining_;
  std::uint32_t leaders_;
};

// Where all ranks are leaders: lane d of a rank leads to the d-th after it on every other host.
class StraightBlocks final : public node::SlabData {
 public:
  StraightBlocks(const plan::Placement& placement, std::uint32_t self, UdpGroup* group,
                 const User& user)
      : here_(placement.ranks[placement.host_of[self]]),
        placement_(placement),
        own_(placement.local_rank[self]),
        group_(group),
        user_(user) {}

  void copy_in(std::uint64_t slab, std::byte* send) override {
    const Piece piece = user_.piece_of(slab);
    for (std::uint64_t to = 0; to < here_.size(); ++to) {
      if (to == own_) continue;
      std::memcpy(send + (to * here_.size() + own_) * piece.bytes,
                  user_.send + here_[to] * user_.bytes + piece.at, piece.bytes);
    }
  }

  // All of it in the first slab, those that follow are of the host alone.
  base::Status exchange(std::uint64_t slab, std::byte*, std::byte*) override {
    if (slab > 0) return {};
    const std::vector<std::uint64_t> sizes(placement_.hosts(), user_.bytes);
    std::vector<std::vector<std::uint64_t>> at(here_.size());
    std::vector<transport::Exchange> exchanges;
    for (std::uint64_t lane = 0; lane < here_.size(); ++lane) {
      for (const auto& ranks : placement_.ranks) {
        at[lane].push_back(ranks[(own_ + lane) % here_.size()] * user_.bytes);
      }
      auto& exchange = exchanges.emplace_back();
      exchange.send = {user_.send, 0, 0, at[lane], sizes};
      exchange.recv = {user_.recv, 0, 0, at[lane], sizes};
    }
    return group_->run_lanes(exchanges);
  }

  std::optional<std::uint32_t> lost() const override { return lost_by(*group_); }

  void copy_out(std::uint64_t slab, const std::byte* send, const std::byte*) override {
    const Piece piece = user_.piece_of(slab);
    for (std::uint64_t from = 0; from < here_.size(); ++from) {
      if (from == own_) continue;
      std::memcpy(user_.recv + here_[from] * user_.bytes + piece.at,
                  send + (own_ * here_.size() + from) * piece.bytes, piece.bytes);
    }
  }

 private:
  const std::vector<std::uint32_t>& here_;  // the ranks of this host
  const plan::Placement& placement_;
  std::uint64_t own_;
  UdpGroup* group_;
  User user_;
};

}  // namespace

NodeExchange::NodeExchange(std::unique_ptr<node::Node> node, plan::Placement placement,
                           std::uint32_t self, UdpGroup* group, std::uint32_t leaders)
    : node_(std::move(node)),
      placement_(std::move(placement)),
      self_(self),
      group_(group),
      leaders_(leaders) {}

std::uint64_t NodeExchange::piece_bytes() const {
  const std::uint64_t blocks = std::uint64_t{placement_.most()} * placement_.rank_count();
  return node_->memory().shape().slab_bytes / blocks / kPieceUnit * kPieceUnit;
}

base::Status NodeExchange::alltoall(const std::byte* send, std::byte* recv, std::uint64_t bytes,
                                    const BetweenHosts& between_hosts) {
  const std::uint32_t leaders = between_hosts.shared ? leaders_ : 1;
  if (leaders > 1 && placement_.all_lead(leaders)) {
    const std::uint64_t here = placement_.most();
    const User user{send, recv, bytes, node_->memory().shape().slab_bytes / (here * here)};
    StraightBlocks data(placement_, self_, group_, user);
    return node::run_slabs(*node_, data, (bytes + user.piece - 1) / user.piece,
                           {node::NodeCall::kAlltoall, bytes, leaders}, turn_);
  }
  const std::uint64_t piece = piece_bytes();
  EqualBlocks data(placement_, self_, group_, {send, recv, bytes, piece}, between_hosts.combining,
                   leaders);
  return node::run_slabs(*node_, data, (bytes + piece - 1) / piece,
                         {node::NodeCall::kAlltoall, bytes, leaders}, turn_);
}

base::Status NodeExchange::alltoall_blocks(const transport::ConstBlocks& send,
                                           const transport::MutableBlocks& recv, bool shared) {
  return run_blocks(send, recv, {group_, counts_, of_slices_, shared ? leaders_ : 1});
}

base::Status NodeExchange::alltoall_neighbours(const transport::ConstBlocks& send,
                                               const transport::MutableBlocks& recv,
                                               std::uint64_t most, bool shared) {
  NodeNetwork network{group_, counts_, of_slices_, shared ? leaders_ : 1};
  network.partners_only =
      network.leaders == 1 && most > 0 &&
      most * placement_.most() <= NodeBlocks::room(node_->memory().shape(), placement_);
  return run_blocks(send, recv, network);
}

base::Status NodeExchange::run_blocks(const transport::ConstBlocks& send,
                                      const transport::MutableBlocks& recv,
                                      const NodeNetwork& network) {
  NodeBlocks blocks(*node_, placement_, self_, network, calls_++, send, recv);
  node::NodeCall call{node::NodeCall::kBlocks, 0};
  if (auto told = node::run_slabs(*node_, blocks.sizes(), 1, call, turn_); !told) return told;
  call.leaders = blocks.leaders();
  return node::run_slabs(*node_, blocks.data(), blocks.slabs(), call, turn_);
}

}  // namespace alm::carrier
