// Files that rank 0 reads for all.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace alm::mpi {

// The text of the file, or one byte more than `bytes_max` of it: whoever parses it says what is
// too large. Errors name the file.
base::Result<std::string> read_text(const std::string& path, std::size_t bytes_max);

}  // namespace alm::mpi
