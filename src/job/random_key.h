// Random contributions to the keys of UDP groups.
#pragma once

#include <sys/types.h>

#include <cstddef>

#include "base/result.h"
#include "transport/channel.h"

namespace alm::job {

// See getrandom(2).
using RandomBytes = ssize_t (*)(void* out, std::size_t bytes, unsigned flags);

ssize_t system_random_bytes(void* out, std::size_t bytes, unsigned flags);

// An error if the source gives fewer bytes than a key has: such a key could be guessed.
base::Result<transport::Key> random_key(RandomBytes source);

}  // namespace alm::job
