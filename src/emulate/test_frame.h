// For tests: Ethernet frames with a UDP datagram over IPv4.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "emulate/frame.h"

namespace alm::emulate {

struct FrameSpec {
  std::uint32_t to_host = 1, to_number = 0;
  std::uint32_t from_port = 4000, to_port = 9000;
  std::uint32_t ttl = 64;
  std::size_t payload = 100;
};

inline std::vector<std::byte> udp_frame(const FrameSpec& spec) {
  std::vector<std::byte> out;
  const auto byte = [&](std::uint32_t value) { out.push_back(static_cast<std::byte>(value)); };
  const auto word = [&](std::uint32_t value) {
    byte(value >> 8 & 0xff);
    byte(value & 0xff);
  };
  for (const std::uint32_t value : {0x02u, 0xc6u, 0x12u}) byte(value);
  byte(spec.to_number);
  word(spec.to_host);
  for (const std::uint32_t value : {0x02u, 0xc6u, 0x12u, 0u}) byte(value);
  word(0);
  word(0x0800);
  const auto length = static_cast<std::uint32_t>(28 + spec.payload);
  word(0x4500);
  word(length);
  word(0);
  word(0);
  byte(spec.ttl);
  byte(17);
  word(0);
  for (const std::uint32_t value : {198u, 18u, 0u, 1u, 198u, 18u, 0u}) byte(value);
  byte((spec.to_host + 1) & 0xff);
  const std::uint16_t sum = internet_checksum(std::span(out).subspan(kEthernetBytes, 20));
  out[kEthernetBytes + 10] = static_cast<std::byte>(sum >> 8);
  out[kEthernetBytes + 11] = static_cast<std::byte>(sum & 0xff);
  word(spec.from_port);
  word(spec.to_port);
  word(length - 20);
  word(0);
  out.resize(out.size() + spec.payload, std::byte{0x5a});
  return out;
}

}  // namespace alm::emulate
