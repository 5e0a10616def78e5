#include "base/letters.h"

#include <gtest/gtest.h>

namespace alm::base {
namespace {

TEST(Letters, messages_show_texts_without_what_terminals_obey) {
  EXPECT_EQ(shown("h 0"), "h 0");
  EXPECT_EQ(shown("n\xc5\x93ud"), "n\xc5\x93ud");
  EXPECT_EQ(shown("a\x1b[31m\n\x7f"), "a\\u001b[31m\\u000a\\u007f");
  EXPECT_EQ(shown("\xe2\x80\xae\xc2\x85"), "\\u202e\\u0085");
  EXPECT_EQ(shown("\xef\xbb\xbf\xc2\xa0"), "\\ufeff\\u00a0");
  EXPECT_EQ(shown("\xff\xc5"), "\\xff\\xc5");
}

TEST(Letters, messages_show_the_beginning_of_long_texts_in_whole_letters) {
  EXPECT_EQ(shown("abcd", 4), "abcd");
  EXPECT_EQ(shown("abcde", 4), "abcd...");
  EXPECT_EQ(shown("abc\xc5\x93"
                  "de",
                  4),
            "abc\xc5\x93...");
}

}  // namespace
}  // namespace alm::base
