// What packet(7) sockets of the emulator have in common.
#pragma once

#include <fmt/core.h>

#include <cerrno>
#include <cstring>

#include "base/result.h"

namespace alm::emulate {

// Of the call that has just failed; `what` is the part of the sentence after "a packet socket".
inline base::Error packet_socket_error(const char* what) {
  return base::io_error(fmt::format("a packet socket: {}: {}", what, std::strerror(errno)));
}

}  // namespace alm::emulate
