#include "base/toml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

namespace alm::base {
namespace {

using testing::HasSubstr;

TEST(Toml, errors_name_file_and_line) {
  const auto read = parse_toml("a = 1\nb = \n", "file.toml");
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("file.toml:2: not valid TOML"));
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
