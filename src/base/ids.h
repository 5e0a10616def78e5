// Distinct integer types, so that a rank is never passed where a host is meant.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <limits>

namespace alm::base {

template <class Tag>
struct StrongId {
  static constexpr std::uint32_t kNoneValue = std::numeric_limits<std::uint32_t>::max();

  std::uint32_t value = kNoneValue;

  static constexpr StrongId none() { return {}; }
  constexpr bool valid() const { return value != kNoneValue; }
  friend constexpr auto operator<=>(StrongId, StrongId) = default;
};

using Rank = StrongId<struct RankTag>;    // a process in one exchange, 0..p-1
using HostId = StrongId<struct HostTag>;  // a host of a cluster file, in file order

}  // namespace alm::base

template <class Tag>
struct std::hash<alm::base::StrongId<Tag>> {
  std::size_t operator()(alm::base::StrongId<Tag> id) const noexcept { return id.value; }
};
