#include "base/hostlist.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace alm::base {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> expand(std::string_view list) {
  auto names = expand_hostlist(list);
  EXPECT_TRUE(names.ok()) << (names ? "" : names.error().message);
  return names ? std::move(names).value() : std::vector<std::string>{};
}

std::string compress(std::vector<std::string> names) { return compress_hostlist(names); }

TEST(Hostlist, ExpandsRangesListsAndPlainNames) {
  EXPECT_THAT(expand("h[0-3,7],x"), ElementsAre("h0", "h1", "h2", "h3", "h7", "x"));
  EXPECT_THAT(expand("login"), ElementsAre("login"));
  EXPECT_THAT(expand("10.0.0.[9-11]"), ElementsAre("10.0.0.9", "10.0.0.10", "10.0.0.11"));
  EXPECT_THAT(expand("h[1-2]-ib"), ElementsAre("h1-ib", "h2-ib"));
}

TEST(Hostlist, KeepsZeroPadding) {
  EXPECT_THAT(expand("n[08-11]"), ElementsAre("n08", "n09", "n10", "n11"));
  EXPECT_THAT(expand("n[098-100,7]"), ElementsAre("n098", "n099", "n100", "n7"));
}

TEST(Hostlist, SeveralBracketsGiveTheProductLastFastest) {
  EXPECT_THAT(expand("r[0-1]n[1-2]"), ElementsAre("r0n1", "r0n2", "r1n1", "r1n2"));
}

TEST(Hostlist, RefusesWhatItCannotRead) {
  for (const std::string_view list : {"",
                                      ",",
                                      "a,",
                                      ",a",
                                      "a,,b",
                                      "h[",
                                      "h]",
                                      "h[]",
                                      "h[1",
                                      "h[[1]]",
                                      "h[1-]",
                                      "h[-1]",
                                      "h[1-2-3]",
                                      "h[2-1]",
                                      "h[a]",
                                      "h[1,]",
                                      "h 1",
                                      "h\t",
                                      "h[1 ]",
                                      "h[0-131072]",
                                      "h[0-65535,0-65535,1]",
                                      "h[0-511][0-511]",
                                      "h[0-99999999999999999999]",
                                      "a]b[",
                                      "h\xc3\xb6"}) {
    const auto names = expand_hostlist(list);
    ASSERT_FALSE(names.ok()) << list;
    EXPECT_THAT(names.error().message, HasSubstr("expected")) << list;
  }
  EXPECT_EQ(expand("h[0-131071]").size(), kHostlistMax);
}

TEST(Hostlist, SaysWhichLetterIsWrong) {
  const auto error_of = [](std::string_view list) { return expand_hostlist(list).error().message; };
  const std::string expected =
      "; expected names of ASCII letters, digits and signs, separated by commas alone";
  EXPECT_EQ(error_of("h0, h1"), "hostlist `h0, h1`: has a blank" + expected);
  EXPECT_EQ(error_of("n\xc5\x93ud[1-3]"),
            "hostlist `n\xc5\x93ud[1-3]`: has the letter `\xc5\x93` (U+0153)" + expected);
  EXPECT_EQ(error_of("h\t"), "hostlist `h\\u0009`: has the character U+0009" + expected);
  EXPECT_EQ(error_of("\xff"), "hostlist `\\xff`: has a letter that is not UTF-8" + expected);
  EXPECT_LT(error_of(std::string(40, 'x') + std::string(1000, '\t')).size(), 250u);
}

// In the size of the list none of these takes much: the first name alone would be a megabyte, and
// there would be 131072 of them.
TEST(Hostlist, RefusesWhatIsTooLong) {
  const std::string letters(1 << 20, 'x');
  const std::string label(64, 'x'), half(63, 'x');
  std::string brackets = "h";
  for (int i = 0; i < 1000; ++i) brackets += "[1]";
  for (const std::string& list :
       {letters + "[0-131071]", "h[0-131071]" + letters, letters, label, "a." + label + ".b",
        half + "[10-11]", half + "." + half + "." + half + "." + half + ".x", brackets,
        half + "." + half + "[0-65535],y[0-65535]." + half + "." + half}) {
    const auto names = expand_hostlist(list);
    ASSERT_FALSE(names.ok()) << list.substr(0, 80);
    EXPECT_THAT(names.error().message, HasSubstr("expected at most")) << list.substr(0, 80);
    EXPECT_LT(names.error().message.size(), 300u);
  }
  EXPECT_THAT(expand(half + "." + half), ElementsAre(half + "." + half));
  EXPECT_EQ(expand(half.substr(6) + "[0-131071]").size(), kHostlistMax);
}

TEST(Hostlist, CompressesRunsAndKeepsOrder) {
  EXPECT_EQ(compress({"h0", "h1", "h2", "h3", "h7", "x"}), "h[0-3,7],x");
  EXPECT_EQ(compress({"n08", "n09", "n10", "n011"}), "n[08-10,011]");
  EXPECT_EQ(compress({"h9", "h10", "h3"}), "h[9-10,3]");
  EXPECT_EQ(compress({"h1-ib", "h2-ib", "h3"}), "h[1-2]-ib,h3");
  EXPECT_EQ(compress({"core"}), "core");
  EXPECT_EQ(compress({}), "");
  EXPECT_EQ(compress({"leaf0", "leaf1", "core", "leaf2"}), "leaf[0-1],core,leaf2");
  EXPECT_EQ(compress({"n1.grid5000.fr", "n2.grid5000.fr", "n4.grid5000.fr", "n4.grid5001.fr"}),
            "n[1-2,4].grid5000.fr,n4.grid5001.fr");
  EXPECT_EQ(compress({"r1n1", "r1n2", "r2n1", "r2n2"}), "r1n[1-2],r2n[1-2]");
  EXPECT_EQ(compress({"10.0.0.1", "10.0.0.2"}), "10.0.0.[1-2]");
  EXPECT_EQ(compress({"h1", "h1"}), "h[1,1]");
}

TEST(Hostlist, ExpandUndoesCompress) {
  std::mt19937 random(1);
  const std::vector<std::string> words{"a", "b7", "n", "x0y", "r1n", "123456789012345678901"};
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<std::string> names;
    std::size_t number = random() % 200;
    for (std::uint32_t i = 0; i <= random() % 12; ++i) {
      number += random() % 4;
      std::string digits = std::to_string(number);
      if (random() % 3 == 0) digits.insert(0, random() % 3, '0');
      names.push_back(words[random() % words.size()] + digits + (random() % 4 ? "" : ".z3"));
    }
    EXPECT_EQ(expand(compress_hostlist(names)), names) << "trial " << trial;
  }
}

}  // namespace
}  // namespace alm::base
