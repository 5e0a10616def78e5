// How decision files, profiles and logs name ways: those of ours over UDP "udp grid:8x4", those of
// the MPI library "library", or "library:bruck" where it is told what to take. Keys are the same in
// every version.
#pragma once

#include <string>
#include <string_view>

namespace alm::tuning {

inline constexpr std::string_view kOverUdp = "udp ";
inline constexpr std::string_view kLibrary = "library";
inline constexpr std::string_view kToldLibrary = "library:";

// `identity`: that of the plan.
inline std::string key_over_udp(std::string_view identity) {
  return std::string(kOverUdp) + std::string(identity);
}

}  // namespace alm::tuning
