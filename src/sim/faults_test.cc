#include "sim/faults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace alm::sim {
namespace {

using testing::ElementsAre;

constexpr std::uint32_t kLink = 1, kUp = 2, kDown = 3;  // the ports of that link

TEST(Faults, ALinkIsDownForAsLongAsItsFaultSays) {
  Faults faults;
  faults.add({.kind = Fault::Kind::kLinkDown, .port = kUp, .start = 10, .duration = 5});
  EXPECT_FALSE(faults.link_down(kUp, 9));
  EXPECT_TRUE(faults.link_down(kUp, 10));
  EXPECT_TRUE(faults.link_down(kDown, 14));
  EXPECT_FALSE(faults.link_down(kDown, 15));
  EXPECT_THAT(faults.links_down(3, 12), ElementsAre(false, true, false));
  EXPECT_THAT(faults.links_down(3, 15), ElementsAre(false, false, false));
}

TEST(Faults, ABlockMayBeginWithAPacket) {
  Faults faults;
  faults.add({.kind = Fault::Kind::kBlockPort,
              .port = kUp,
              .start = kNever,
              .duration = 100,
              .after_packets = 2});
  faults.count(kUp, 7);
  EXPECT_EQ(faults.blocked_until(kUp, 7), 0);
  faults.count(kDown, 8);  // another port
  faults.count(kUp, 9);
  EXPECT_EQ(faults.blocked_until(kUp, 9), 109);
  EXPECT_EQ(faults.blocked_until(kDown, 9), 0);
  EXPECT_EQ(faults.blocked_until(kUp, 109), 0);
}

TEST(Faults, ALossyLinkLosesItsPart) {
  Faults faults;
  faults.add({.kind = Fault::Kind::kLossyLink, .port = kUp, .part = 0.25, .seed = 7});
  int lost = 0;
  for (int packet = 0; packet < 4000; ++packet) lost += faults.loses(kDown, packet) ? 1 : 0;
  EXPECT_NEAR(lost, 1000, 150);
  EXPECT_FALSE(faults.loses(0, 0));
}

TEST(Faults, AConditionTakesThePlaceOfLossesAndLeavesBlocks) {
  Faults faults;
  faults.add({.kind = Fault::Kind::kLinkDown, .port = kUp});
  faults.add({.kind = Fault::Kind::kBlockPort, .port = kUp, .duration = 5});
  faults.replace(kLink, std::nullopt);
  EXPECT_FALSE(faults.link_down(kUp, 0));
  EXPECT_TRUE(faults.concern(kUp));
  EXPECT_FALSE(faults.concern(kDown));
  faults.replace(kLink, Fault{.kind = Fault::Kind::kLinkDown, .port = kUp});
  EXPECT_TRUE(faults.link_down(kUp, 0));
  EXPECT_TRUE(faults.concern(kDown));
}

}  // namespace
}  // namespace alm::sim
