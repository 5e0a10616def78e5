// What toml++ 3.3 may safely read, made out of the text of a file.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace alm::base {

// The same text in printable ASCII, line by line: comments are emptied and letters beyond ASCII in
// strings are written as escapes, because toml++ calls __builtin_unreachable on some of them
// (U+00E9 for one) when damaged quotes let them stand where a value should. Refused, with the line:
// such letters elsewhere, strings of several lines, a header or an array element that is none
// ("[[[",
// "[=", "[}": toml++ asserts that there is one, and a file must not abort the program).
Result<std::string> plain_text(std::string_view text, std::string_view source_name);

}  // namespace alm::base
