#include "transport/io/set_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <limits>
#include <numeric>

#include "transport/io/driver.h"

namespace alm::io {

SetEntry::SetEntry(std::uint16_t set, PeerSet&& peers)
    : number(set),
      channel(peers.config, std::move(peers.identity)),
      addresses(std::move(peers.addresses)),
      tuples(std::move(peers.tuples)),
      numbers(std::move(peers.numbers)),
      names(std::move(peers.names)),
      family(peers.family) {
  if (!numbers.empty()) return;
  numbers.resize(addresses.size());
  std::iota(numbers.begin(), numbers.end(), 0);
}

std::string SetEntry::name_of(std::uint32_t rank_number) const {
  return rank_number < names.size() ? names[rank_number] : fmt::format("rank {}", rank_number);
}

std::vector<transport::PeerId> SetEntry::absent() const {
  std::vector<transport::PeerId> found;
  for (transport::PeerId peer = 0; peer < numbers.size(); ++peer) {
    if (peer != channel.identity().self && channel.absent(peer)) found.push_back(peer);
  }
  return found;
}

// A peer that has given up is alive: only what it was to do will never be done.
base::Error SetEntry::told_error(transport::PeerId peer, std::uint32_t told) const {
  const std::string who = name_of(numbers[peer]);
  const std::string of_whom = name_of(told);
  if (of_whom == who) {
    return {base::ErrorCode::kTimeout, fmt::format("{} has given up, and says why", who)};
  }
  return {base::ErrorCode::kPeerLost, fmt::format("{} is lost, as {} has found", of_whom, who)};
}

std::string SetEntry::disorder(transport::PeerId peer, std::optional<std::uint64_t> sends) const {
  return another_way_text(name_of(numbers[peer]), sends, name_of(numbers[channel.identity().self]),
                          channel.sends_to(peer));
}

std::string SetEntry::mismatch() const {
  const auto& found = channel.mismatch();
  if (!found) return {};
  const std::string expected = found->expected == transport::Mismatch::kUnknown
                                   ? "less"
                                   : fmt::format("{} bytes", found->expected);
  return fmt::format("{} sends {} bytes to {}, which expects {}", name_of(numbers[found->from]),
                     found->sent, name_of(numbers[found->to]), expected);
}

std::uint16_t SetTable::reserve() {
  // Numbers are used in turn, so that a number does not soon mean another set to a late datagram. 0
  // is never given out.
  constexpr std::uint32_t kNumbers = std::numeric_limits<std::uint16_t>::max();
  for (std::uint32_t tried = 0; tried < kNumbers; ++tried) {
    last_ = last_ == kNumbers ? std::uint16_t{1} : static_cast<std::uint16_t>(last_ + 1);
    if (taken_.size() <= last_) taken_.resize(last_ + 1U);
    if (taken_[last_]) continue;
    taken_[last_] = true;
    return last_;
  }
  return 0;
}

void SetTable::add(std::uint16_t set, PeerSet&& peers) {
  assert(set < taken_.size() && taken_[set] && find(set) == nullptr);
  if (slots_.size() <= set) slots_.resize(set + 1U);
  slots_[set] = std::make_unique<SetEntry>(set, std::move(peers));
  live_.push_back(slots_[set].get());
}

SetEntry* SetTable::retire(std::uint16_t set) {
  SetEntry* entry = find(set);
  if (entry == nullptr) {  // reserved, never added
    if (set < taken_.size()) taken_[set] = false;
    return nullptr;
  }
  if (std::find(retired_.begin(), retired_.end(), entry) != retired_.end()) return nullptr;
  retired_.push_back(entry);
  return retired_.size() > kRetiredMax ? retired_.front() : nullptr;
}

void SetTable::drop(SetEntry* entry) {
  assert(entry->queued == 0);
  std::erase(retired_, entry);
  std::erase(live_, entry);
  taken_[entry->number] = false;
  slots_[entry->number].reset();
}

}  // namespace alm::io
