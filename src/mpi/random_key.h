// Random contributions to the keys of UDP carriers.
#pragma once

#include <sys/types.h>

#include <cstddef>

#include "base/result.h"
#include "transport/channel.h"

namespace alm::mpi {

// As getrandom(2).
using RandomBytes = ssize_t (*)(void* out, std::size_t bytes, unsigned flags);

ssize_t system_random_bytes(void* out, std::size_t bytes, unsigned flags);

// An error where there are fewer bytes than a key takes: a key that can be guessed is none.
base::Result<transport::Key> random_key(RandomBytes source);

}  // namespace alm::mpi
