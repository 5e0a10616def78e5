// Which numbers of paths are possible.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "transport/config.h"

namespace alm::transport {

// As paths::check_paths; and several paths need selective-repeat.
base::Status check_paths(std::uint32_t paths, std::uint32_t batch, Reliability reliability);

}  // namespace alm::transport
