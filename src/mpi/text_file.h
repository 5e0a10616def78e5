// Reads the files that rank 0 reads for all ranks.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace alm::mpi {

// The text of the file, at most `bytes_max` + 1 bytes of it, so that the parser notices a file that
// is too large. Errors name the file.
base::Result<std::string> read_text(const std::string& path, std::size_t bytes_max);

}  // namespace alm::mpi
