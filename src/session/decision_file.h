// Reads and writes the decision file; tuning/decisions.h has its format.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "tuning/decisions.h"

namespace alm::session {

// A missing or empty file has no decisions.
base::Result<std::vector<tuning::Decision>> read_decisions(const std::string& path);
// Replaces the file atomically.
base::Status write_decisions(const std::string& path, std::span<const tuning::Decision> all);
// Adds decisions to those in the file now, because other jobs may have written since this one read
// it. A file that cannot be read is left alone.
base::Status add_decisions(const std::string& path, std::span<const tuning::Decision> recorded);

}  // namespace alm::session
