#include "model/signature.h"

#include <gtest/gtest.h>

namespace alm::model {
namespace {

// 003 section V.A: Fast Ethernet, 24 nodes.
constexpr Signature kFastEthernet{{60e-6, 8e-8}, 1.0195, 8.23e-3, 2000};

TEST(Signature, DeltaCountsFromTheThreshold) {
  EXPECT_NEAR(signature_s(kFastEthernet, 24, 1999), 23 * (60e-6 + 1999 * 8e-8 * 1.0195), 1e-12);
  EXPECT_NEAR(signature_s(kFastEthernet, 24, 2000), 23 * (60e-6 + 2000 * 8e-8 * 1.0195 + 8.23e-3),
              1e-12);
}

// 003 section V.C: Myrinet has no start-up, which is Eq 4.
TEST(Signature, WithoutDeltaItIsEquation4) {
  const Signature myrinet{{7e-6, 4e-9}, 2.49754, 0, 0};
  EXPECT_NEAR(signature_s(myrinet, 24, 1e6), 23 * (7e-6 + 1e6 * 4e-9 * 2.49754), 1e-9);
}

// 003 section VI: two sites of 30, one exchange of 30 messages each against 30 of one.
TEST(Signature, LocalGroupPaysForOneExchangeBetweenEqualSites) {
  const Signature site{{50e-6, 8e-9}, 2.6887, 5.039e-3, 1000};
  const TwoSites sites{30, 30, site, site, {5e-3, 8e-10}};
  const double inside = signature_s(site, 30, 10'000);
  EXPECT_NEAR(naive_sites_s(sites, 10'000), inside + 30 * (5e-3 + 8e-10 * 10'000), 1e-9);
  EXPECT_NEAR(local_group_s(sites, 10'000), inside + 5e-3 + 8e-10 * 300'000, 1e-9);
}

TEST(Signature, TheLargestMessageBetweenUnequalSites) {
  EXPECT_EQ(local_group_blocks(4, 8), 4u);
  EXPECT_EQ(local_group_blocks(4, 6), 6u);   // one partner for some: all six
  EXPECT_EQ(local_group_blocks(4, 10), 5u);  // two each
}

}  // namespace
}  // namespace alm::model
