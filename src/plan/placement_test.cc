#include "plan/placement.h"

#include <gmock/gmock.h>

namespace alm::plan {
namespace {

using ::testing::ElementsAre;

Placement place(const std::vector<std::string_view>& hosts) { return Placement::of(hosts); }

TEST(Placement, WithOneRankPerHostHostsAreRanks) {
  const auto placement = place({"c", "a", "b"});
  EXPECT_THAT(placement.host_of, ElementsAre(0, 1, 2));
  EXPECT_FALSE(placement.shared());
  EXPECT_TRUE(placement.leads(2));
}

TEST(Placement, HostsComeInTheOrderOfTheirLeaders) {
  const auto placement = place({"b", "a", "b", "a", "c", "b"});
  EXPECT_THAT(placement.host_of, ElementsAre(0, 1, 0, 1, 2, 0));
  EXPECT_THAT(placement.local_rank, ElementsAre(0, 0, 1, 1, 0, 2));
  EXPECT_THAT(placement.ranks,
              ElementsAre(ElementsAre(0, 2, 5), ElementsAre(1, 3), ElementsAre(4)));
  EXPECT_THAT(placement.first, ElementsAre(0, 3, 5));
  EXPECT_EQ(placement.leader(0), 0u);
  EXPECT_TRUE(placement.leads(1));
  EXPECT_FALSE(placement.leads(5));
}

TEST(Placement, SaysWhatItIs) {
  EXPECT_EQ(place({"a", "a", "b", "b"}).text(), "2 hosts x 2 ranks");
  EXPECT_EQ(place({"a", "b", "b"}).text(), "2 hosts x 1 to 2 ranks");
  EXPECT_TRUE(place({"a", "a", "b", "b"}).equal());
  EXPECT_FALSE(place({"a", "b", "b"}).equal());
}

}  // namespace
}  // namespace alm::plan
