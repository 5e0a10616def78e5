// Blocks of any sizes between hosts with several ranks. A call takes two exchanges:
//
//   sizes  Every host tells every other what its ranks send to the other's, how many slabs it
//          needs, and whether it has enough for several leaders to share. All take as many slabs as
//          the largest need and share if one wants to, so neither needs further agreement. The host
//          leaders alone exchange sizes.
//   data   Messages are as long as their sender has said. In the first slab each begins with a
//          verdict: whether a rank of the sender's host expects another size than it is sent, and
//          which. So all hosts know it once the first slab is complete, and end alike. Where
//          messages are shared, verdicts are in the slices of the host leaders.
//
// Among partners only, hosts that exchange nothing with each other tell each other nothing; they
// hear of ranks that do not agree as of any failure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "carrier/udp_group.h"
#include "carrier/uneven_steps.h"
#include "node/node_slabs.h"
#include "plan/placement.h"
#include "transport/channel.h"

namespace alm::carrier {

// Travels at the head of messages between processes of one architecture.
struct NodeVerdict {
  std::uint32_t differs = 0;  // 1: the rest counts
  std::uint32_t from = 0, to = 0;
  std::uint32_t reserved = 0;
  std::uint64_t sent = 0, expected = 0;
};
constexpr std::uint64_t kVerdictBytes = sizeof(NodeVerdict);

// By what a leader reaches the other hosts; all null on other ranks.
struct NodeNetwork {
  UdpGroup* group = nullptr;
  UnevenSteps* counts = nullptr;     // null on a leader where no steps are to be made
  UnevenSteps* of_slices = nullptr;  // the same for shared messages
  std::uint32_t leaders = 1;         // so many may share messages
  // Hosts that exchange nothing send each other nothing. All hosts must know before that one slab
  // is enough for each, because they count slabs alike. Not where leaders share.
  bool partners_only = false;
};

class NodeBlocks {
 public:
  // `call` numbers the calls of this form.
  NodeBlocks(node::Node& node, const plan::Placement& placement, std::uint32_t self,
             NodeNetwork network, std::uint64_t call, const transport::ConstBlocks& send,
             const transport::MutableBlocks& recv);

  // How many bytes of blocks a slab has room for.
  static std::uint64_t room(const node::NodeShape& shape, const plan::Placement& placement);

  node::SlabData& sizes() { return sizes_; }
  node::SlabData& data() { return data_; }
  // Once the sizes have come:
  std::uint64_t slabs() const;
  std::uint32_t leaders() const;

 private:
  class Sizes final : public node::SlabData {
   public:
    explicit Sizes(NodeBlocks& of) : of_(of) {}
    void copy_in(std::uint64_t slab, std::byte* send) override;
    base::Status exchange(std::uint64_t slab, std::byte* send, std::byte* recv) override;
    void copy_out(std::uint64_t, const std::byte*, const std::byte*) override {}
    std::optional<std::uint32_t> lost() const override { return of_.lost(); }

   private:
    NodeBlocks& of_;
  };

  class Data final : public node::SlabData {
   public:
    explicit Data(NodeBlocks& of) : of_(of) {}
    void copy_in(std::uint64_t slab, std::byte* send) override;
    base::Status exchange(std::uint64_t slab, std::byte* send, std::byte* recv) override;
    void copy_out(std::uint64_t slab, const std::byte* send, const std::byte* recv) override;
    std::optional<std::uint32_t> lost() const override { return of_.lost(); }

   private:
    NodeBlocks& of_;
  };

  // Where messages and the pieces of this rank's blocks lie in a slab.
  struct Layout {
    std::vector<std::uint64_t> message_at, message_bytes;  // [host]
    std::vector<std::uint64_t> piece_at;                   // [rank]
  };
  Layout sent(std::uint64_t slab) const;
  Layout received(std::uint64_t slab) const;

  struct Piece {
    std::uint64_t at, bytes;
  };
  Piece piece(std::uint64_t size, std::uint64_t slab) const;
  std::uint64_t header_at(std::uint32_t host) const;  // words
  std::uint64_t header_words(std::uint32_t host) const;
  bool is_partner(std::uint32_t host) const;
  std::uint64_t most_of_host() const;
  std::uint64_t slabs_needed() const;
  base::Status carry(Layout& out, Layout& in, std::byte* send, std::byte* recv) const;
  std::optional<std::uint32_t> lost() const;
  NodeVerdict judge() const;
  base::Error disagreement(const NodeVerdict& verdict) const;

  node::Node& node_;
  const plan::Placement& placement_;
  std::uint32_t self_, host_;
  NodeNetwork network_;
  std::uint64_t call_;
  const transport::ConstBlocks& send_;
  const transport::MutableBlocks& recv_;
  NodeVerdict verdict_;  // of this host; set on the host leader
  Sizes sizes_;
  Data data_;
};

}  // namespace alm::carrier
