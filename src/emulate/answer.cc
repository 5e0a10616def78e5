#include "emulate/answer.h"

#include <algorithm>
#include <array>

#include "emulate/frame.h"

namespace alm::emulate {
namespace {

constexpr std::size_t kIcmpBytes = 8;
// RFC 1812 section 4.3.2.3: as much of the packet as fits into 576 bytes.
constexpr std::size_t kQuotedMost = 576 - kIpv4Bytes - kIcmpBytes;
constexpr std::uint8_t kTtl = 64, kIcmp = 1, kIcmpV6 = 58;
// Type and code.
constexpr std::uint32_t kTimeExceeded = 0x0b00, kTimeExceededV6 = 0x0300;
constexpr std::uint32_t kUnreachable = 0x0301, kUnreachableV6 = 0x0100;
// Addresses of switches follow those of all interfaces of hosts (lab/network.py).
constexpr std::uint32_t kFirstSwitch = 65536 + 1;
constexpr std::uint32_t kIpv4Network = 198u << 24 | 18u << 16;
constexpr std::array<std::uint8_t, 8> kIpv6Network{0xfd, 0x00, 0xa1, 0x1e, 0x3a, 0x4d, 0x00, 0x0e};

class Writer {
 public:
  void byte(std::uint32_t value) { out_.push_back(static_cast<std::byte>(value)); }
  void word(std::uint32_t value) {
    byte(value >> 8 & 0xff);
    byte(value & 0xff);
  }
  void number(std::uint32_t value) {
    word(value >> 16);
    word(value & 0xffff);
  }
  void bytes(std::span<const std::byte> data) { out_.insert(out_.end(), data.begin(), data.end()); }
  // The checksum of all from `begin` on goes where its place is, still 0.
  void checksum(std::size_t begin, std::size_t place, std::uint32_t pseudo_header = 0) {
    const std::uint16_t sum = internet_checksum(std::span(out_).subspan(begin), pseudo_header);
    out_[place] = static_cast<std::byte>(sum >> 8);
    out_[place + 1] = static_cast<std::byte>(sum & 0xff);
  }
  std::size_t size() const { return out_.size(); }
  std::span<const std::byte> from(std::size_t at, std::size_t count) const {
    return std::span(out_).subspan(at, count);
  }
  std::vector<std::byte> take() { return std::move(out_); }

 private:
  std::vector<std::byte> out_;
};

void put_ethernet(Writer& out, std::span<const std::byte> frame, std::uint32_t number) {
  out.bytes(frame.subspan(6, 6));  // back to where it came from
  for (const std::uint32_t value : {0x02u, 0xc6u, 0x13u, 0u}) out.byte(value);
  out.word(number + 1);
  out.bytes(frame.subspan(12, 2));
}

// RFC 1071: what of a sum can be added to another.
std::uint32_t partial_sum(std::span<const std::byte> data) {
  return static_cast<std::uint16_t>(~internet_checksum(data));
}

}  // namespace

std::vector<std::byte> answer(Refusal refusal, std::span<const std::byte> frame,
                              std::uint32_t number) {
  const bool expired = refusal == Refusal::kTimeExceeded;
  if (!ttl_of(frame)) return {};
  const std::span<const std::byte> packet = frame.subspan(kEthernetBytes);
  const auto quoted = packet.first(std::min(packet.size(), kQuotedMost));
  Writer out;
  put_ethernet(out, frame, number);
  const std::size_t ip = out.size();
  if (std::to_integer<int>(packet[0]) >> 4 == 4) {
    out.word(0x45c0);  // no options; internetwork control
    out.word(static_cast<std::uint32_t>(kIpv4Bytes + kIcmpBytes + quoted.size()));
    out.number(0);
    out.byte(kTtl);
    out.byte(kIcmp);
    out.word(0);
    out.number(kIpv4Network + kFirstSwitch + number);
    out.bytes(packet.subspan(12, 4));
    out.checksum(ip, ip + 10);
    const std::size_t icmp = out.size();
    out.word(expired ? kTimeExceeded : kUnreachable);
    out.word(0);
    out.number(0);
    out.bytes(quoted);
    out.checksum(icmp, icmp + 2);
    return out.take();
  }
  const auto length = static_cast<std::uint32_t>(kIcmpBytes + quoted.size());
  out.number(6u << 28);
  out.word(length);
  out.byte(kIcmpV6);
  out.byte(kTtl);
  for (const std::uint8_t value : kIpv6Network) out.byte(value);
  out.number(0);
  out.number(kFirstSwitch + number);
  out.bytes(packet.subspan(8, 16));
  const std::size_t icmp = out.size();
  const std::uint32_t pseudo_header = partial_sum(out.from(ip + 8, 32)) + length + kIcmpV6;
  out.word(expired ? kTimeExceededV6 : kUnreachableV6);
  out.word(0);
  out.number(0);
  out.bytes(quoted);
  out.checksum(icmp, icmp + 2, pseudo_header);
  static_assert(kIpv6Bytes == 8 + 16 + 16);
  return out.take();
}

}  // namespace alm::emulate
