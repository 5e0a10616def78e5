// The round trips between the hosts of a communicator, and which hosts are near each other. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/time.h"

namespace alm::meeting {

class RoundTripTable {
 public:
  // `round_trips`: [from * hosts + to]; 0: not known. They must live as long as this.
  RoundTripTable(std::span<const base::Nanos> round_trips, std::size_t hosts)
      : round_trips_(round_trips), hosts_(hosts) {}

  std::size_t hosts() const { return hosts_; }
  // The shorter one of both directions; 0: neither is known.
  base::Nanos between(std::size_t a, std::size_t b) const;
  // The longer one; 0: neither is known.
  base::Nanos longer(std::size_t a, std::size_t b) const;
  // Of all pairs, as far as they are known.
  std::vector<base::Nanos> sorted() const;

  // [host] its group: hosts that are joined by round trips up to `near`.
  std::vector<std::uint32_t> groups(base::Nanos near) const;
  // Two hosts of one group that are not near each other; nothing: there are none.
  std::optional<std::pair<std::size_t, std::size_t>> apart(std::span<const std::uint32_t> groups,
                                                           base::Nanos near) const;

 private:
  std::span<const base::Nanos> round_trips_;
  std::size_t hosts_;
};

}  // namespace alm::meeting
