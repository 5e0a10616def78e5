// Which ranks of a communicator share a host. The lowest rank of a host is its leader. Hosts are
// numbered in the order of their leaders, so that with one rank per host the numbers of host and
// rank are equal.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace alm::plan {

struct Placement {
  std::vector<std::uint32_t> host_of;             // [rank]
  std::vector<std::uint32_t> local_rank;          // [rank] among those of its host
  std::vector<std::vector<std::uint32_t>> ranks;  // [host] ascending
  std::vector<std::uint32_t> first;               // [host] ranks on the hosts before it

  // `host_names` lies by rank.
  static Placement of(std::span<const std::string_view> host_names);

  std::uint32_t hosts() const { return static_cast<std::uint32_t>(ranks.size()); }
  std::uint32_t rank_count() const { return static_cast<std::uint32_t>(host_of.size()); }
  std::uint32_t count(std::uint32_t host) const {
    return static_cast<std::uint32_t>(ranks[host].size());
  }
  std::uint32_t leader(std::uint32_t host) const { return ranks[host].front(); }
  bool leads(std::uint32_t rank) const { return leader(host_of[rank]) == rank; }
  std::uint32_t most() const;  // ranks on one host
  std::uint32_t fewest() const;
  bool equal() const;  // every host has as many ranks
  // Whether all ranks lead, with so many leaders on each host.
  bool all_lead(std::uint32_t leaders) const { return equal() && most() == leaders; }
  bool shared() const { return most() > 1; }

  // "8 hosts x 4 ranks", "3 hosts x 1 to 4 ranks"
  std::string text() const;
};

}  // namespace alm::plan
