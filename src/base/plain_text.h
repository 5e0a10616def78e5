// Makes the text of a file safe for toml++ 3.3.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace alm::base {

// The same text in printable ASCII, line by line: comments are emptied and letters beyond ASCII in
// strings are written as escapes, because toml++ calls __builtin_unreachable on some of them
// (U+00E9 for one) when damaged quotes let them stand where a value should. Errors name the line of
// such letters outside strings, of strings of several lines, and of "[[[", "[=" or "[}": toml++
// asserts that a header or an array element follows, and a file must not abort the program. Control
// characters, lines that end in CR alone and UTF-16 have errors of their own.
Result<std::string> plain_text(std::string_view text, std::string_view source_name);

}  // namespace alm::base
