#define TOML_IMPLEMENTATION
#include "base/toml.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/letters.h"
#include "base/plain_text.h"

namespace alm::base {
namespace {

struct ParserAsserted {
  const char* what;
};

constexpr std::string_view kDigits = "0123456789_";
constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::size_t kShownBytes = 240;         // of what the parser says
constexpr std::size_t kSearchedBytes = 1 << 20;  // where a line takes some twenty readings to find

bool has(std::string_view letters, char c) { return letters.find(c) != letters.npos; }

std::string_view line_of(std::string_view text, std::uint32_t number) {
  for (; number > 1 && !text.empty(); --number) {
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  }
  return text.substr(0, text.find('\n'));
}

// What follows a number such as -1.5; all of `value` if it begins with none.
std::string_view behind_number(std::string_view value) {
  std::string_view rest = value;
  if (has("+-", rest[0])) rest.remove_prefix(1);
  if (rest.empty() || !has(kDigits, rest[0])) return value;
  const auto skip_digits = [&] {
    rest.remove_prefix(std::min(rest.find_first_not_of(kDigits), rest.size()));
  };
  skip_digits();
  if (rest.substr(0, 1) == ".") rest.remove_prefix(1);
  skip_digits();
  return rest;
}

// "100 Mbit/s", "5us", "10 %"; not 1e999 or 0x1g.
bool has_unit(std::string_view value) {
  const std::string_view rest = behind_number(value);
  if (rest.empty() || rest.size() == value.size()) return false;
  const std::string_view unit = trim(rest);
  return (has(kLetters, unit[0]) || unit[0] == '%') && (unit.size() == 1 || !has(kDigits, unit[1]));
}

// Text without quotes: x, True, 10.0.0.1.
bool lacks_quotes(std::string_view value) {
  return behind_number(value).substr(0, 1) == "." || !has("0123456789+-\"'[{", value[0]);
}

std::string no_value(std::string_view key, std::string_view value) {
  return fmt::format(
      "key `{}`: `{}` is no value; expected \"text\" in quotes, a number, true or "
      "false",
      shown(key), shown(value));
}

// What is wrong with `line`, if it is one of the usual mistakes; otherwise the parser knows better.
std::string mistake(std::string_view line) {
  const std::size_t equals = line.find('=');
  if (equals == line.npos) return {};
  const std::string_view key = trim(line.substr(0, equals));
  std::string_view value = line.substr(equals + 1);
  value = trim(value.substr(0, value.find('#')));
  const bool is_key = !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return has(kLetters, c) || has(kDigits, c) || has("-.", c);
  });
  if (!is_key || value.empty()) return {};
  if (has_unit(value)) {
    return fmt::format(
        "key `{}`: `{}` is not a number alone; expected a number without a unit: "
        "the key says the unit",
        shown(key), shown(value));
  }
  return lacks_quotes(value) ? no_value(key, value) : std::string();
}

bool breaks_assertion(std::string_view text) {
  try {
    static_cast<void>(toml::parse(text));
  } catch (const toml::parse_error&) {
    return false;
  } catch (const ParserAsserted&) {
    return true;
  }
  return false;
}

// The last of as few lines, with their ends, as still break an assertion.
std::uint32_t asserting_line(std::string_view text) {
  std::uint32_t sound = 0;
  auto broken = static_cast<std::uint32_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  while (broken - sound > 1) {
    const std::uint32_t middle = sound + (broken - sound) / 2;
    const std::string_view last = line_of(text, middle);
    const auto bytes = static_cast<std::size_t>(last.data() - text.data()) + last.size() + 1;
    (breaks_assertion(text.substr(0, bytes)) ? broken : sound) = middle;
  }
  return broken;
}

// Assertions break behind dates and times ("k = 2024-05-01 1").
Error asserted(const char* what, std::string_view text, std::string_view source_name) {
  if (text.size() > kSearchedBytes) {
    return bad_input(
        fmt::format("{}: not valid TOML: the parser did not expect it ({})", source_name, what));
  }
  const std::uint32_t number = asserting_line(text);
  std::string_view line = line_of(text, number);
  line = line.substr(0, line.find('#'));
  const std::size_t equals = line.find('=');
  return bad_input(fmt::format(
      "{}:{}: not valid TOML: {}", source_name, number,
      equals == line.npos ? fmt::format("`{}` is not expected", shown(trim(line)))
                          : no_value(trim(line.substr(0, equals)), trim(line.substr(equals + 1)))));
}

}  // namespace

void parser_asserted(const char* what) { throw ParserAsserted{what}; }

Result<toml::table> parse_toml(std::string_view text, std::string_view source_name) {
  const Result<std::string> plain = plain_text(text, source_name);
  if (!plain) return plain.error();
  try {
    return toml::parse(plain.value(), source_name);
  } catch (const toml::parse_error& error) {
    const std::uint32_t line = std::max(error.source().begin.line, std::uint32_t{1});
    std::string what = mistake(line_of(plain.value(), line));
    if (what.empty()) what = shown(error.description(), kShownBytes);
    return bad_input(fmt::format("{}:{}: not valid TOML: {}", source_name, line, what));
  } catch (const ParserAsserted& error) {
    return asserted(error.what, plain.value(), source_name);
  }
}

}  // namespace alm::base
