#include "emulate/control.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace alm::emulate {
namespace {

TEST(Request, ChangesALink) {
  const auto request = parse_request("link 3 0.25 0.01", 4).value();
  const auto& link = std::get<SetLink>(request);
  EXPECT_EQ(link.link, 3u);
  EXPECT_EQ(link.rate, 0.25);
  EXPECT_EQ(link.loss, 0.01);
}

TEST(Request, WithdrawsLinks) {
  const auto request = parse_request("withdrawn 0,2", 3).value();
  EXPECT_EQ(std::get<Withdraw>(request).dead, (std::vector<bool>{true, false, true}));
  EXPECT_EQ(std::get<Withdraw>(parse_request("withdrawn -", 3).value()).dead, std::vector<bool>(3));
}

TEST(Request, SaysWhatIsWrong) {
  const auto wrong = [](const char* text) { return parse_request(text, 4).error().message; };
  EXPECT_THAT(wrong("link 4 1 0"), testing::HasSubstr("expected a number below 4"));
  EXPECT_THAT(wrong("link x 1 0"), testing::HasSubstr("expected a number below 4"));
  EXPECT_THAT(wrong("link 1 0 0"), testing::HasSubstr("above 0"));
  EXPECT_THAT(wrong("link 1 nan 0"), testing::HasSubstr("above 0"));
  EXPECT_THAT(wrong("link 1 1 1.5"), testing::HasSubstr("from 0 to 1"));
  EXPECT_THAT(wrong("link 1"), testing::HasSubstr("a rate"));
  EXPECT_THAT(wrong("withdrawn 1,9"), testing::HasSubstr("expected a number below 4"));
  EXPECT_THAT(wrong(""), testing::HasSubstr("expected link or withdrawn"));
}

}  // namespace
}  // namespace alm::emulate
