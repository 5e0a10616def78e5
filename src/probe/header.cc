#include "probe/header.h"

#include "wire/bytes.h"
#include "wire/hash.h"

namespace alm::probe {
namespace {

using wire::load;
using wire::store;

constexpr std::size_t kExperimentAt = 4, kFlowAt = 8, kNumberAt = 12, kSentAt = 16, kAnswerAt = 24,
                      kCheckAt = 32;
static_assert(kCheckAt + sizeof(std::uint64_t) == kHeaderBytes);

std::uint64_t check_of(const std::byte* header, const Secret& secret) {
  return wire::hash(header, kCheckAt, secret.data(), secret.size());
}

}  // namespace

void encode(const Header& header, const Secret& secret, std::span<std::byte, kHeaderBytes> out) {
  std::byte* at = out.data();
  store<std::uint32_t>(at, kMagic);
  store<std::uint32_t>(at + kExperimentAt, header.experiment);
  store<std::uint32_t>(at + kFlowAt, header.flow);
  store<std::uint32_t>(at + kNumberAt, header.number);
  store<std::uint64_t>(at + kSentAt, static_cast<std::uint64_t>(header.sent));
  store<std::uint64_t>(at + kAnswerAt, header.answer ? 1 : 0);
  store<std::uint64_t>(at + kCheckAt, check_of(at, secret));
}

std::optional<Header> decode(std::span<const std::byte> datagram, const Secret& secret) {
  if (datagram.size() < kHeaderBytes) return std::nullopt;
  const std::byte* at = datagram.data();
  if (load<std::uint32_t>(at) != kMagic) return std::nullopt;
  if (load<std::uint64_t>(at + kCheckAt) != check_of(at, secret)) return std::nullopt;
  return Header{.experiment = load<std::uint32_t>(at + kExperimentAt),
                .flow = load<std::uint32_t>(at + kFlowAt),
                .number = load<std::uint32_t>(at + kNumberAt),
                .sent = static_cast<base::Nanos>(load<std::uint64_t>(at + kSentAt)),
                .answer = load<std::uint64_t>(at + kAnswerAt) != 0};
}

}  // namespace alm::probe
