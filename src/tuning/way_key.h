// How decision files, profiles and logs name the ways of ours over UDP: "udp grid:8x4". Keys are
// the same in every version.
#pragma once

#include <string>
#include <string_view>

namespace alm::tuning {

inline constexpr std::string_view kOverUdp = "udp ";

// `identity`: that of the plan.
inline std::string key_over_udp(std::string_view identity) {
  return std::string(kOverUdp) + std::string(identity);
}

}  // namespace alm::tuning
