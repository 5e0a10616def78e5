// The error text that the emulator's packet(7) sockets share.
#pragma once

#include <fmt/core.h>

#include <cerrno>
#include <cstring>

#include "base/result.h"

namespace alm::emulate {

// The error of the call that has just failed; `what` follows "a packet socket: " in the text.
inline base::Error packet_socket_error(const char* what) {
  return base::io_error(fmt::format("a packet socket: {}: {}", what, std::strerror(errno)));
}

}  // namespace alm::emulate
