// The decision file on disk; tuning/decisions.h has its contents.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "tuning/decisions.h"

namespace alm::mpi {

// A missing or empty file holds none.
base::Result<std::vector<tuning::Decision>> read_decisions(const std::string& path);
// Takes the place of what is there in one step.
base::Status write_decisions(const std::string& path, std::span<const tuning::Decision> all);
// To what the file holds by now: other jobs may have added theirs since this one read it. A file
// that cannot be read is left alone.
base::Status add_decisions(const std::string& path, std::span<const tuning::Decision> recorded);

}  // namespace alm::mpi
