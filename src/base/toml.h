// toml++ as it is used here, compiled once (toml.cc): as a header alone it takes six seconds in
// every source. It is linked statically, because a preloaded library must not need a shared object.
#pragma once

#include <string_view>

#include "base/result.h"

namespace alm::base {
[[noreturn]] void parser_asserted(const char* what);
}  // namespace alm::base

// What the parser asserts of its own state, text that is no TOML may upset. That ends the reading
// and not the program. Without exceptions its errors trip more of them ("k = 2024-05-01 1").
#define TOML_ASSERT(condition) \
  ((condition) ? static_cast<void>(0) : ::alm::base::parser_asserted(#condition))
#define TOML_EXCEPTIONS 1
#define TOML_ENABLE_FORMATTERS 0
#define TOML_HEADER_ONLY 0
#pragma push_macro("NDEBUG")
#undef NDEBUG  // which makes assumptions of the assertions
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

namespace alm::base {

// Any bytes. What is not TOML, or more than plain_text() lets pass, is bad input; the message names
// `source_name` and the line.
Result<toml::table> parse_toml(std::string_view text, std::string_view source_name);

}  // namespace alm::base
