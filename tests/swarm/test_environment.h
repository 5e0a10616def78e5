// What a test is told from outside.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace alm::swarm {

inline std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

}  // namespace alm::swarm
