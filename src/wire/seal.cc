#include "wire/seal.h"

#include <cassert>
#include <cstring>

#include "wire/bytes.h"
#include "wire/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace alm::wire {

Sealer::Sealer(const Key& key, Covers covers) : covers_(covers) {
  static_assert(sizeof(secret_) >= XXH3_SECRET_SIZE_MIN);
  for (std::size_t i = 0; i < secret_.size(); i += sizeof(std::uint64_t)) {
    const std::array<std::uint64_t, 3> material{key[0], key[1], i};
    std::array<std::byte, sizeof material> encoded;
    for (std::size_t word = 0; word < material.size(); ++word) {
      store(&encoded[word * sizeof(std::uint64_t)], material[word]);
    }
    const std::uint64_t expanded = XXH3_64bits_withSeed(encoded.data(), encoded.size(), key[0]);
    store(&secret_[i], expanded);
  }
}

std::uint64_t Sealer::check(const std::byte* header, std::uint64_t exchange,
                            std::span<const std::byte> payload) const {
  const bool left_to_udp = covers_ == Covers::kHeader && is_data(header);
  const std::uint64_t body =
      left_to_udp ? payload.size()
                  : hash(payload.data(), payload.size(), secret_.data(), secret_.size());
  std::array<std::byte, kChecksumOffset + 2 * sizeof(std::uint64_t)> front;
  std::memcpy(front.data(), header, kChecksumOffset);
  store(&front[kChecksumOffset], exchange);
  store(&front[kChecksumOffset + sizeof(std::uint64_t)], body);
  return XXH3_64bits_withSecret(front.data(), front.size(), secret_.data(), secret_.size());
}

void Sealer::seal(std::span<std::byte> head, std::span<const std::byte> payload,
                  std::uint64_t exchange) const {
  assert(head.size() >= kHeaderBytes);
  // Control packets carry their body in the head, data packets in the payload, never both.
  assert(head.size() == kHeaderBytes || payload.empty());
  const std::span<const std::byte> body =
      head.size() > kHeaderBytes ? std::span<const std::byte>(head.subspan(kHeaderBytes)) : payload;
  store(&head[kChecksumOffset], check(head.data(), exchange, body));
}

bool Sealer::verify(std::span<const std::byte> datagram, std::uint64_t exchange) const {
  assert(datagram.size() >= kHeaderBytes);
  return load<std::uint64_t>(&datagram[kChecksumOffset]) ==
         check(datagram.data(), exchange, datagram.subspan(kHeaderBytes));
}

}  // namespace alm::wire
