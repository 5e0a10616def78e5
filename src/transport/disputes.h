// Two ranks that do not agree on the size of a block. Neither can go on, and others may wait for
// them: the exchange ends for all. What comes may show it (a packet that is the last for one side
// only); what does not come is asked for, and a probe carries both sizes. A rank that expects
// nothing from another may have left the exchange already: it then ends the next one.
//
// A block that is not as expected is in dispute until the probe to its peer has shown the sizes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "blocks/windows.h"
#include "transport/config.h"
#include "wire/control.h"

namespace alm::transport {

class Disputes {
 public:
  Disputes(PeerId self, std::uint32_t peers) : self_(self), disputed_(peers, 0) {}

  void begin() { open_ = false; }
  void dispute(PeerId peer, std::uint64_t exchange, bool running) {
    disputed_[peer] = exchange + 1;
    open_ = open_ || running;
  }
  // The peer is asked about the exchange before.
  void asked(PeerId peer) { disputed_[peer] = 0; }
  void abandon() { std::fill(disputed_.begin(), disputed_.end(), 0); }

  // Whether a block of the running exchange is in dispute.
  bool open() const { return open_; }
  bool disputed(PeerId peer, std::uint64_t exchange) const {
    return disputed_[peer] == exchange + 1;
  }

  // How the sizes that this rank and the peer state differ; nothing: they agree.
  std::optional<Mismatch> compare(PeerId peer, const wire::ProbeBody& ours,
                                  const wire::ProbeBody& theirs) const {
    if (ours.sends != theirs.expects) return Mismatch{self_, peer, ours.sends, theirs.expects};
    if (ours.expects != theirs.sends) return Mismatch{peer, self_, theirs.sends, ours.expects};
    return std::nullopt;
  }
  // Whether a packet may belong to a block of so many packets.
  static bool fits(std::uint32_t total, std::uint32_t packet, bool last) {
    return packet < total && last == (packet + 1 == total);
  }
  // Whether the packets that came before this rank entered the exchange fit a block of so many;
  // early.total is known from the last packet.
  static bool fits_early(std::uint32_t total, const blocks::ReceiveWindow& early) {
    if (early.seen > total) return false;
    if (early.total != 0) return early.total == total;
    return total == 0 || !early.has(total - 1);
  }

  // Two ranks are known not to agree.
  void settle(const Mismatch& mismatch) { mismatch_ = mismatch; }
  const std::optional<Mismatch>& mismatch() const { return mismatch_; }

  static constexpr std::size_t bytes_per_peer() { return sizeof(std::uint64_t); }

 private:
  PeerId self_;
  bool open_ = false;
  std::vector<std::uint64_t> disputed_;  // [peer] 1 + number of the exchange; 0: none
  std::optional<Mismatch> mismatch_;
};

}  // namespace alm::transport
