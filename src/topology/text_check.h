// What must hold of a text before toml++ 3.3 may read it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace alm::topology {

// toml++ asserts that a table header begins with a key ("[[[" and "[=" abort a program built with
// assertions) and calls __builtin_unreachable on some letters outside strings and comments (U+00E9
// for one). Both are refused here, with the line, and so are strings of several lines, in which the
// second can happen too; a cluster file has no use for them. `source_name` is for the message.
base::Status check_text(std::string_view text, std::string_view source_name);

}  // namespace alm::topology
