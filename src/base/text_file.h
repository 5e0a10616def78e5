// Reads files that users name; nothing else does.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace alm::base {

// Returns the whole file. A missing file, a directory, or more than `bytes_max` bytes are bad
// input; the message names the path, what is wrong and `expected` ("a cluster file").
Result<std::string> read_text(const std::string& path, std::size_t bytes_max,
                              std::string_view expected);

}  // namespace alm::base
