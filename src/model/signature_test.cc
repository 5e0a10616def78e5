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

// 4 + 10: three steps. Ranks of the first site send 1 + 3 blocks to each other, those of the second
// two; the largest message between the sites has five.
TEST(Signature, LocalGroupWithItsTrueMessages) {
  const Signature site{{0, 1e-8}, 2, 0, 0};
  const TwoSites sites{4, 10, site, site, {5e-3, 1e-8}, 1e-9};
  const double m = 10'000;
  const double per_block = m * 2e-8;
  EXPECT_NEAR(local_group_printed_s(sites, m), 9 * per_block + 3 * (5e-3 + 4 * m * 1e-8), 1e-12);
  EXPECT_NEAR(local_group_s(sites, m), 9 * per_block + 3 * (5e-3 + 5 * m * 1e-8), 1e-12);
  EXPECT_NEAR(local_group_corrected_s(sites, m), 9 * 2 * per_block + 3 * (5e-3 + 5 * m * 1e-8),
              1e-12);
  EXPECT_NEAR(local_group_overlapped_s(sites, m), 9 * 2 * per_block + 5e-3 + 1.015 * 40 * m * 1e-9,
              1e-12);
  const TwoSites few_large{4, 5, site, site, {5e-3, 1e-8}, 1e-9};  // 3 x (1 + 2) above 4 x 2
  EXPECT_NEAR(local_group_overlapped_s(few_large, m), 9 * per_block + 5e-3 + 1.015 * 20 * m * 1e-9,
              1e-12);
}

TEST(Signature, MultiSiteTakesTheLinkOrTheHosts) {
  const Signature site{{0, 1e-8}, 2, 0, 0};
  TwoSites sites{4, 10, site, site, {5e-3, 1e-8}, 1e-7};
  EXPECT_NEAR(multi_site_s(sites, 10'000), 5e-3 + 1.015 * 40 * 10'000 * 1e-7, 1e-12);
  sites.link_beta = 1e-9;
  EXPECT_NEAR(multi_site_s(sites, 10'000), 5e-3 + 13 * 10'000 * 2e-8, 1e-12);
}

TEST(Signature, TheLargestMessageBetweenUnequalSites) {
  EXPECT_EQ(local_group_blocks(4, 8), 4u);
  EXPECT_EQ(local_group_blocks(4, 6), 6u);   // one partner for some: all six
  EXPECT_EQ(local_group_blocks(4, 10), 5u);  // two each
}

}  // namespace
}  // namespace alm::model
