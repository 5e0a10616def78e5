// Parity of a block: packets from which a receiver recovers those of the block that were lost, if
// as many packets of parity have come.
//
// Parity j of packets d_0 .. d_{n-1} is the sum of g_j^i d_i over i, byte by byte in GF(256) with
// x^8 + x^4 + x^3 + x^2 + 1 and g_j = 2^j: the checks of RAID 6 (H. P. Anvin, The mathematics of
// RAID-6), and more of the kind, computed by doubling alone. Parities 0 .. e-1 tell any e packets
// (Vandermonde's matrix); where some of them are lost, too, a few combinations cannot be told and
// wait for another packet. Packets of a block have one length but the last, which counts as filled
// up with zeros.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace alm::blocks {

constexpr std::uint32_t kParitiesMax = 8;
constexpr std::uint32_t kParityBlockMax = 128;  // packets of a block that has parities

// Packet i of a block of `count`; empty: it has not come.
using PacketAt = std::function<std::span<const std::byte>(std::uint32_t)>;

// Writes parity `index` of all packets. Precondition: index < kParitiesMax, no packet is empty or
// longer than `out`.
void make_parity(std::uint32_t index, std::uint32_t count, const PacketAt& packet,
                 std::span<std::byte> out);

// Parities of one block that have come, and what they tell of the packets that have not.
class Parities {
 public:
  void add(std::uint32_t index, std::span<const std::byte> parity);
  // The packets that are lacking, in ascending order, each as long as a parity; empty: they cannot
  // be told from these parities. Precondition: as many parities have come.
  std::vector<std::vector<std::byte>> solve(std::uint32_t count,
                                            std::span<const std::uint32_t> lacking,
                                            const PacketAt& packet) const;

 private:
  struct Parity {
    std::uint32_t index = 0;
    std::vector<std::byte> bytes;
  };
  std::vector<Parity> parities_;
};

}  // namespace alm::blocks
