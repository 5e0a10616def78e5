#include "carrier/node_exchange.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "carrier/node_blocks.h"
#include "node/node_slabs.h"

namespace alm::carrier {
namespace {

constexpr std::uint64_t kPieceUnit = 64;

class EqualBlocks final : public node::SlabData {
 public:
  struct User {
    const std::byte* send;
    std::byte* recv;
    std::uint64_t bytes, piece;
  };

  EqualBlocks(const plan::Placement& placement, std::uint32_t self, UdpCarrier* carrier,
              const User& user, std::optional<std::size_t> combining)
      : placement_(placement),
        self_(self),
        host_(placement.host_of[self]),
        carrier_(carrier),
        user_(user),
        combining_(combining) {}

  void copy_in(std::uint64_t slab, std::byte* send) override {
    const Piece piece = piece_of(slab);
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
    const std::uint64_t bytes = piece_of(slab).bytes;
    std::vector<std::uint64_t> at, sizes, weights;
    for (std::uint32_t host = 0; host < placement_.hosts(); ++host) {
      at.push_back(here * placement_.first[host] * bytes);
      sizes.push_back(here * placement_.count(host) * bytes);
      weights.push_back(placement_.count(host));
    }
    const transport::ConstBlocks out{send, 0, 0, at, sizes};
    const transport::MutableBlocks in{recv, 0, 0, at, sizes};
    if (combining_) {
      if (!placement_.equal())
        return carrier_->run_combining(*combining_, out, in, {bytes, weights});
      const std::uint64_t block = here * here * bytes;
      return carrier_->run_combining(*combining_, {send, block, block}, {recv, block, block},
                                     {.each = block});
    }
    transport::Exchange exchange;
    exchange.send = out;
    exchange.recv = in;
    return carrier_->run(exchange);
  }

  void copy_out(std::uint64_t slab, const std::byte* send, const std::byte* recv) override {
    const Piece piece = piece_of(slab);
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
  struct Piece {
    std::uint64_t at, bytes;
  };
  Piece piece_of(std::uint64_t slab) const {
    const std::uint64_t at = slab * user_.piece;
    return {at, std::min(user_.piece, user_.bytes - at)};
  }

  const plan::Placement& placement_;
  std::uint32_t self_, host_;
  UdpCarrier* carrier_;
  User user_;
  std::optional<std::size_t> combining_;
};

}  // namespace

NodeExchange::NodeExchange(std::unique_ptr<node::Node> node, plan::Placement placement,
                           std::uint32_t self, UdpCarrier* carrier)
    : node_(std::move(node)), placement_(std::move(placement)), self_(self), carrier_(carrier) {}

std::uint64_t NodeExchange::piece_bytes() const {
  const std::uint64_t blocks = std::uint64_t{placement_.most()} * placement_.rank_count();
  return node_->memory().shape().slab_bytes / blocks / kPieceUnit * kPieceUnit;
}

base::Status NodeExchange::alltoall(const std::byte* send, std::byte* recv, std::uint64_t bytes,
                                    std::optional<std::size_t> combining) {
  const std::uint64_t piece = piece_bytes();
  EqualBlocks data(placement_, self_, carrier_, {send, recv, bytes, piece}, combining);
  return node::run_slabs(*node_, data, (bytes + piece - 1) / piece,
                         {node::NodeCall::kAlltoall, bytes}, step_);
}

base::Status NodeExchange::alltoall_blocks(const transport::ConstBlocks& send,
                                           const transport::MutableBlocks& recv) {
  NodeBlocks blocks(*node_, placement_, self_, {carrier_, counts_}, calls_++, send, recv);
  const node::NodeCall call{node::NodeCall::kBlocks, 0};
  if (auto told = node::run_slabs(*node_, blocks.sizes(), 1, call, step_); !told) return told;
  return node::run_slabs(*node_, blocks.data(), blocks.slabs(), call, step_);
}

}  // namespace alm::carrier
