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
// What becomes of a file that cannot be read, or is no decision file.
enum class Unreadable { kKept, kReplaced };
// Adds decisions to those in the file now, because other jobs may have written since this one read
// it.
base::Status add_decisions(const std::string& path, std::span<const tuning::Decision> recorded,
                           Unreadable unreadable = Unreadable::kKept);

}  // namespace alm::session
