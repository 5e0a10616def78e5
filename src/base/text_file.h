// The one way in which files that users name are read.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace alm::base {

// The whole file, which holds `bytes_max` bytes at most. A file that is missing, a directory or
// longer is bad input; the message names the path, what is wrong and `expected` ("a cluster file").
Result<std::string> read_text(const std::string& path, std::size_t bytes_max,
                              std::string_view expected);

}  // namespace alm::base
