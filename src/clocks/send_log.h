// When the latest packets were sent. With their acknowledgements this gives the round trip, and the
// spacing of the packets shows what this rank gets of the link.
//
// One ring for all peers, because it is written with every packet and read seldom. It holds twice
// the packets that may be under way. Only first transmissions are in it: it is not known which
// transmission of a resent packet an answer belongs to (Karn).
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/rounds.h"
#include "base/time.h"

namespace alm::clocks {

class SendLog {
 public:
  explicit SendLog(std::uint32_t under_way)
      : entries_(std::bit_ceil(2 * std::clamp(under_way, kLeast / 2, kMost / 2))) {}

  void clear() { count_ = 0; }
  void add(base::Nanos now, base::PeerId peer, std::uint32_t packet) {
    entries_[count_ & mask()] = {now, peer, packet};
    ++count_;
  }
  std::optional<base::Nanos> sent_at(base::PeerId peer, std::uint32_t packet) const {
    const std::uint64_t oldest = count_ - std::min<std::uint64_t>(count_, entries_.size());
    for (std::uint64_t at = count_; at > oldest; --at) {
      const Entry& entry = entries_[(at - 1) & mask()];
      if (entry.peer != peer) continue;
      if (entry.packet == packet) return entry.at;
      if (entry.packet < packet) break;  // packet numbers rise
    }
    return std::nullopt;
  }
  // The mean time from one packet to the next, up to `now`. A short exchange counts from its begin,
  // once more than `window` packets were sent, which leave at once; nothing before.
  std::optional<base::Nanos> spacing(base::Nanos now, std::uint64_t window) const {
    if (count_ <= window || count_ < kLeast) return std::nullopt;
    const std::uint64_t held = std::min<std::uint64_t>(count_, entries_.size());
    return (now - entries_[(count_ - held) & mask()].at) / static_cast<base::Nanos>(held);
  }
  std::uint64_t count() const { return count_; }  // of the exchange
  base::Nanos latest() const { return count_ == 0 ? 0 : entries_[(count_ - 1) & mask()].at; }
  std::size_t bytes() const { return entries_.capacity() * sizeof(Entry); }

 private:
  // With fewer entries the spacing says little; with more the search takes long.
  static constexpr std::uint32_t kLeast = 64, kMost = 4096;
  struct Entry {
    base::Nanos at = 0;
    base::PeerId peer = 0;
    std::uint32_t packet = 0;
  };
  std::uint64_t mask() const { return entries_.size() - 1; }

  std::vector<Entry> entries_;
  std::uint64_t count_ = 0;
};

}  // namespace alm::clocks
