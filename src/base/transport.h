// What carries messages between hosts: our protocol over UDP, or MPI's point-to-point messages.
#pragma once

#include <cstdint>

namespace alm::base {

enum class Transport : std::uint8_t { kUdp, kMpi };

}  // namespace alm::base
