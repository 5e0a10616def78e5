// toml++ as it is used here, compiled once (toml.cc): as a header alone it takes six seconds in
// every source. It is linked statically, because a preloaded library must not need a shared object.
#pragma once

#include <string_view>

#include "base/result.h"

namespace alm::base {
[[noreturn]] void parser_asserted(const char* what);
}  // namespace alm::base

// Text that is no TOML may break assertions of the parser. A broken one ends the reading, not the
// program. Errors are exceptions, because without them more assertions break ("k = 2024-05-01 1").
#define TOML_ASSERT(condition) \
  ((condition) ? static_cast<void>(0) : ::alm::base::parser_asserted(#condition))
#define TOML_EXCEPTIONS 1
#define TOML_ENABLE_FORMATTERS 0
#define TOML_HEADER_ONLY 0
#pragma push_macro("NDEBUG")
#undef NDEBUG  // it turns assertions of toml++ into assumptions
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

namespace alm::base {

// `text` may be any bytes. If it is not TOML, or plain_text() refuses it, it is bad input; the
// message names `source_name` and the line.
Result<toml::table> parse_toml(std::string_view text, std::string_view source_name);

}  // namespace alm::base
