#define TOML_IMPLEMENTATION
#include "base/toml.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>

#include "base/plain_text.h"

namespace alm::base {
namespace {

struct ParserAsserted {
  const char* what;
};

}  // namespace

void parser_asserted(const char* what) { throw ParserAsserted{what}; }

Result<toml::table> parse_toml(std::string_view text, std::string_view source_name) {
  const Result<std::string> plain = plain_text(text, source_name);
  if (!plain) return plain.error();
  try {
    return toml::parse(plain.value(), source_name);
  } catch (const toml::parse_error& error) {
    return bad_input(fmt::format("{}:{}: not valid TOML: {}", source_name,
                                 std::max(error.source().begin.line, std::uint32_t{1}),
                                 error.description()));
  } catch (const ParserAsserted& error) {
    return bad_input(fmt::format("{}: not valid TOML: the parser did not expect it ({})",
                                 source_name, error.what));
  }
}

}  // namespace alm::base
