#include "base/toml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

namespace alm::base {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Toml, errors_name_file_and_line) {
  const auto read = parse_toml("a = 1\nb = \n", "file.toml");
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("file.toml:2: not valid TOML"));
}

std::string error_of(std::string_view text) {
  const auto read = parse_toml(text, "f");
  return read ? "" : read.error().message;
}

TEST(Toml, errors_say_what_a_value_may_be) {
  for (const std::string value : {"x", "True", "= \"x\"", "10.0.0.1", "h[0-3]"}) {
    EXPECT_EQ(error_of("a = 1\nname = " + value + "  # why\n"),
              "f:2: not valid TOML: key `name`: `" + value +
                  "` is no value; expected \"text\" in quotes, a number, true or false");
  }
  for (const std::string value : {"100 Mbit/s", "5us", "-1.5 ms", "10 %", "10_000M"}) {
    EXPECT_EQ(error_of("rate_mbit_s = " + value),
              "f:1: not valid TOML: key `rate_mbit_s`: `" + value +
                  "` is not a number alone; expected a number without a unit: the key says the "
                  "unit");
  }
  EXPECT_THAT(error_of("a = 2024-13-45"), HasSubstr("expected month between 1 and 12"));
  EXPECT_THAT(error_of("a = 1\na = 0x1g"), Not(HasSubstr("unit")));
  EXPECT_LT(error_of("name = " + std::string(1000, 'x')).size(), 200u);
  EXPECT_LT(error_of(std::string(1000, 'x') + "=1\n" + std::string(1000, 'x') + "=1").size(), 300u);
}

TEST(Toml, errors_name_control_characters_and_encodings) {
  using namespace std::string_literals;
  EXPECT_EQ(error_of("a = 1\nname = \"x\x07\"\n"),
            "f:2: not valid TOML: the control character U+0007 in a string; expected text without "
            "control characters");
  EXPECT_THAT(error_of("name = \"x\0\"\n"s), HasSubstr("U+0000 in a string"));
  EXPECT_THAT(error_of("name = 1\x1b\n"), HasSubstr("U+001B outside strings"));
  EXPECT_THAT(error_of("name = \"x\n"), HasSubstr("a string that does not end in its line"));
  EXPECT_THAT(error_of("name = \"x\r\n"), HasSubstr("a string that does not end in its line"));
  EXPECT_EQ(error_of("\xff\xfen\0a\0"s), "f: is UTF-16; expected TOML, saved as UTF-8");
  for (const char* text : {"a = 1\rb = 2\r", "# why\ra = 1\r"}) {
    EXPECT_EQ(
        error_of(text),
        "f:1: not valid TOML: a carriage return alone; expected lines that end in LF, or in CR "
        "and LF");
  }
  EXPECT_EQ(error_of("# why\r\na = 1\r\n"), "");
}

TEST(Toml, what_follows_a_date_is_an_error) {
  for (const char* text :
       {"name = 2024-05-01 1", "k=2001-01-01true", "k=2001-01-01 1:", "k = 12:30x",
        "k=[2001-01-01 1]", "k={a=2001-01-01 1}", "k = 1979-05-27T07:32:00-", "[a]\nk=1999-1"}) {
    const auto read = parse_toml(text, "file.toml");
    ASSERT_FALSE(read) << text;
    EXPECT_THAT(read.error().message, HasSubstr("not valid TOML")) << text;
  }
}

TEST(Toml, what_breaks_an_assertion_of_the_parser_is_told_by_line) {
  EXPECT_EQ(error_of("format = 1\nname = 2024-05-01 1\n\n[[switch]]\nname = \"s\"\n"),
            "f:2: not valid TOML: key `name`: `2024-05-01 1` is no value; expected \"text\" in "
            "quotes, a number, true or false");
  EXPECT_THAT(error_of("a = [\n  1,\n  2001-01-01 1\n]\n"), HasSubstr("f:3: not valid TOML"));
}

// Pieces in any order, and damaged: nothing but a table or a message comes out.
TEST(Toml, any_text_gives_a_table_or_a_message) {
  const std::string pieces[] = {
      "[a]\n",  "[[b]]\n", "k = ",  "k.l=",    "2024-05-01", "12:30:00", "T",     "Z",   "+01:00",
      "1",      "-",       "1e9",   "0x1f",    "1_000",      "inf",      "nan",   "tru", "true",
      "\"x\"",  "'y'",     "\"",    "\\u00e9", "[",          "]",        "{",     "}",   ",",
      "=",      ".",       "\n",    " ",       "#c\n",       "\t",       "\r\n",  "0b2", "0o9",
      "1.5e+3", "\\x",     "[a.b]", "[[a]]\n", "a=1\n",      "a.b=2\n",  "b=[]\n"};
  std::mt19937 random(1);
  for (int i = 0; i < 100'000; ++i) {
    std::string text;
    for (auto n = random() % 12; n > 0; --n) text += pieces[random() % std::size(pieces)];
    if (!text.empty() && random() % 4 == 0) text[random() % text.size()] = char(random() % 256);
    const auto read = parse_toml(text, "file.toml");
    const std::string said = read ? "file.toml" : read.error().message;
    EXPECT_THAT(said, HasSubstr("file.toml")) << text;
  }
}

}  // namespace
}  // namespace alm::base
