// Scripted faults: links that are down or lossy, ports that are blocked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/options.h"
#include "sim/time.h"

namespace alm::sim {

class Faults {
 public:
  void add(const Fault& fault) { watches_.push_back({fault, 0}); }
  // In place of what made the link be down or lossy.
  void replace(std::uint32_t link, const std::optional<Fault>& fault);
  // Whether some fault is of this port or its link.
  bool concern(std::uint32_t port) const;

  bool link_down(std::uint32_t port, Picos now) const;
  // [link]: those that are down at this time.
  std::vector<bool> links_down(std::size_t links, Picos at) const;
  // Whether the next packet on this link is lost by chance.
  bool loses(std::uint32_t port, Picos now);
  // A packet has come to this port.
  void count(std::uint32_t port, Picos now);
  Picos blocked_until(std::uint32_t port, Picos now) const;

 private:
  struct Watch {
    Fault fault;
    std::uint32_t seen = 0;
  };
  std::vector<Watch> watches_;
};

}  // namespace alm::sim
