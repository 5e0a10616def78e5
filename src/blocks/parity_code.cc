#include "blocks/parity_code.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <utility>

namespace alm::blocks {
namespace {

constexpr std::uint8_t kReduced = 0x1D;  // x^8 in the field

constexpr std::uint8_t twice(std::uint8_t value) {
  return static_cast<std::uint8_t>((value << 1) ^ ((value & 0x80) != 0 ? kReduced : 0));
}

struct Tables {
  std::array<std::uint8_t, 512> power{};  // [i] 2^i; twice over, so that sums of two need no modulo
  std::array<std::uint8_t, 256> log{};
};

constexpr Tables make_tables() {
  Tables tables;
  std::uint8_t value = 1;
  for (std::uint32_t i = 0; i < 255; ++i) {
    tables.power[i] = tables.power[i + 255] = value;
    tables.log[value] = static_cast<std::uint8_t>(i);
    value = twice(value);
  }
  return tables;
}

constexpr Tables kTables = make_tables();

std::uint8_t times(std::uint8_t a, std::uint8_t b) {
  if (a == 0 || b == 0) return 0;
  return kTables.power[std::size_t{kTables.log[a]} + kTables.log[b]];
}

std::uint8_t inverse(std::uint8_t a) { return kTables.power[255 - kTables.log[a]]; }

// g_j^i.
std::uint8_t weight(std::uint32_t index, std::uint32_t packet) {
  return kTables.power[(index * packet) % 255];
}

// Doubles eight bytes at once.
std::uint64_t twice_each(std::uint64_t value) {
  constexpr std::uint64_t kHigh = 0x8080808080808080, kLow = 0x7F7F7F7F7F7F7F7F;
  const std::uint64_t high = value & kHigh;
  return ((value & kLow) << 1) ^ ((high >> 7) * kReduced);
}

// to = 2^index * to + packet, as Horner's rule has it; a short packet ends in zeros.
void fold(std::uint32_t index, std::span<const std::byte> packet, std::span<std::byte> to) {
  std::size_t at = 0;
  for (; at + sizeof(std::uint64_t) <= to.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t value = 0, more = 0;
    std::memcpy(&value, &to[at], sizeof value);
    if (at < packet.size()) {
      std::memcpy(&more, &packet[at], std::min(sizeof more, packet.size() - at));
    }
    for (std::uint32_t i = 0; i < index; ++i) value = twice_each(value);
    value ^= more;
    std::memcpy(&to[at], &value, sizeof value);
  }
  for (; at < to.size(); ++at) {
    auto value = static_cast<std::uint8_t>(to[at]);
    for (std::uint32_t i = 0; i < index; ++i) value = twice(value);
    to[at] = std::byte{value} ^ (at < packet.size() ? packet[at] : std::byte{0});
  }
}

void sum(std::uint32_t index, std::uint32_t count, const PacketAt& packet,
         std::span<std::byte> out) {
  std::fill(out.begin(), out.end(), std::byte{0});
  for (std::uint32_t i = count; i-- > 0;) fold(index, packet(i), out);
}

// to += factor * from.
void add(std::uint8_t factor, std::span<const std::byte> from, std::span<std::byte> to) {
  std::array<std::byte, 256> product;
  for (std::size_t value = 0; value < product.size(); ++value) {
    product[value] = std::byte{times(factor, static_cast<std::uint8_t>(value))};
  }
  for (std::size_t i = 0; i < to.size(); ++i)
    to[i] ^= product[std::to_integer<std::size_t>(from[i])];
}

// The inverse of a matrix of n rows and columns, row by row; empty: it has none.
std::vector<std::uint8_t> invert(std::size_t n, std::vector<std::uint8_t> rows) {
  std::vector<std::uint8_t> out(n * n, 0);
  for (std::size_t i = 0; i < n; ++i) out[i * n + i] = 1;
  for (std::size_t column = 0; column < n; ++column) {
    std::size_t pivot = column;
    while (pivot < n && rows[pivot * n + column] == 0) ++pivot;
    if (pivot == n) return {};
    for (std::size_t k = 0; k < n; ++k) {
      std::swap(rows[pivot * n + k], rows[column * n + k]);
      std::swap(out[pivot * n + k], out[column * n + k]);
    }
    const std::uint8_t scale = inverse(rows[column * n + column]);
    for (std::size_t k = 0; k < n; ++k) {
      rows[column * n + k] = times(scale, rows[column * n + k]);
      out[column * n + k] = times(scale, out[column * n + k]);
    }
    for (std::size_t row = 0; row < n; ++row) {
      const std::uint8_t factor = rows[row * n + column];
      if (row == column || factor == 0) continue;
      for (std::size_t k = 0; k < n; ++k) {
        rows[row * n + k] ^= times(factor, rows[column * n + k]);
        out[row * n + k] ^= times(factor, out[column * n + k]);
      }
    }
  }
  return out;
}

}  // namespace

void make_parity(std::uint32_t index, std::uint32_t count, const PacketAt& packet,
                 std::span<std::byte> out) {
  assert(index < kParitiesMax && count <= kParityBlockMax);
  sum(index, count, packet, out);
}

void Parities::add(std::uint32_t index, std::span<const std::byte> parity) {
  parities_.push_back({index, {parity.begin(), parity.end()}});
}

std::vector<std::vector<std::byte>> Parities::solve(std::uint32_t count,
                                                    std::span<const std::uint32_t> lacking,
                                                    const PacketAt& packet) const {
  const std::size_t n = lacking.size();
  assert(n > 0 && n <= parities_.size());
  // The first that tell it, and then the last.
  for (const std::size_t first : {std::size_t{0}, parities_.size() - n}) {
    const std::span came = std::span(parities_).subspan(first, n);
    std::vector<std::uint8_t> weights;
    for (const Parity& parity : came) {
      for (const std::uint32_t lost : lacking) weights.push_back(weight(parity.index, lost));
    }
    const std::vector<std::uint8_t> inverse = invert(n, std::move(weights));
    if (inverse.empty()) continue;
    // The parities of what is lacking alone are those that came, less those of all else.
    std::vector<std::vector<std::byte>> out(n, std::vector<std::byte>(came[0].bytes.size()));
    for (std::size_t i = 0; i < n; ++i) {
      std::vector<std::byte> rest(came[i].bytes.size());
      sum(came[i].index, count, packet, rest);
      blocks::add(1, came[i].bytes, rest);
      for (std::size_t row = 0; row < n; ++row) blocks::add(inverse[row * n + i], rest, out[row]);
    }
    return out;
  }
  return {};
}

}  // namespace alm::blocks
