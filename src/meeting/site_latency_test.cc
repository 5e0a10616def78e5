#include "meeting/site_latency.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace alm::meeting {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

constexpr base::Nanos kUs = base::kMicrosecond;

class SiteLatency : public testing::Test {
 protected:
  // Times between hosts by their sites, with something random on top.
  void make(const std::vector<std::uint32_t>& site_of, base::Nanos within, base::Nanos between,
            std::uint64_t seed = 1) {
    std::mt19937_64 random(seed);
    hosts_ = site_of.size();
    names_.clear();
    times_.assign(hosts_ * hosts_, 0);
    for (std::size_t a = 0; a < hosts_; ++a) {
      names_.push_back("h" + std::to_string(a));
      for (std::size_t b = 0; b < hosts_; ++b) {
        if (a == b) continue;
        const base::Nanos least = site_of[a] == site_of[b] ? within : between;
        at(a, b) = least + static_cast<base::Nanos>(random() % static_cast<std::uint64_t>(least));
      }
    }
  }
  base::Nanos& at(std::size_t a, std::size_t b) { return times_[a * hosts_ + b]; }
  void set_both(std::size_t a, std::size_t b, base::Nanos time) { at(a, b) = at(b, a) = time; }
  auto find() const { return sites_by_latency(times_, names_); }
  std::string error() const {
    const auto found = find();
    return found ? "none" : found.error().message;
  }

  std::size_t hosts_ = 0;
  std::vector<std::string> names_;
  std::vector<base::Nanos> times_;
};

TEST_F(SiteLatency, HostsThatAreNearEachOtherAreAtOneSite) {
  const std::vector<std::uint32_t> sites = {0, 0, 1, 0, 2, 1, 2, 2};
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    make(sites, 60 * kUs, 10'000 * kUs, seed);
    const auto found = find();
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_THAT(found.value().sites.of, ElementsAreArray(sites)) << seed;
    EXPECT_THAT(found.value().sites.names, ElementsAre("site 0", "site 1", "site 2"));
    EXPECT_LE(found.value().near, 120 * kUs);
    EXPECT_GE(found.value().far, 10'000 * kUs);
    EXPECT_GE(found.value().farthest, found.value().far);
  }
}

TEST_F(SiteLatency, ASiteMayBeOneHost) {
  make({0, 0, 0, 1}, 60 * kUs, 10'000 * kUs);
  EXPECT_THAT(find().value().sites.of, ElementsAre(0, 0, 0, 1));
}

TEST_F(SiteLatency, WithinOneSiteThereAreNone) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    make({0, 0, 1, 1}, 20 * kUs, 150 * kUs, seed);  // leaves of one site
    EXPECT_THAT(error(), HasSubstr("show no sites")) << seed;
  }
}

TEST_F(SiteLatency, AHostThatAnswersLateMakesNoSite) {
  make({0, 0, 0, 0, 1, 1, 1, 1}, 60 * kUs, 10'000 * kUs);
  at(1, 0) = 30'000 * kUs;  // one way is enough
  EXPECT_THAT(find().value().sites.of, ElementsAre(0, 0, 0, 0, 1, 1, 1, 1));
  set_both(1, 0, 30'000 * kUs);
  EXPECT_THAT(error(), HasSubstr("h0 and h1 are 30 ms apart, and both are near others"));
}

TEST_F(SiteLatency, WhatWasNotMeasuredIsInNobodysWay) {
  make({0, 0, 0, 1, 1, 1}, 60 * kUs, 10'000 * kUs);
  set_both(0, 1, 0);
  set_both(0, 3, 0);
  at(4, 5) = 0;
  EXPECT_THAT(find().value().sites.of, ElementsAre(0, 0, 0, 1, 1, 1));
  for (std::size_t host = 0; host < 6; ++host) {
    if (host != 2) set_both(2, host, 0);
  }
  EXPECT_THAT(error(), HasSubstr("no round trip from or to h2"));
}

TEST_F(SiteLatency, TheWidestGapCounts) {
  // Two buildings, 1 ms apart, at one of two sites that are 40 ms apart.
  make({0, 0, 0, 0, 1, 1}, 60 * kUs, 40'000 * kUs);
  for (const std::size_t a : {0u, 1u}) {
    for (const std::size_t b : {2u, 3u}) set_both(a, b, 1000 * kUs);
  }
  EXPECT_THAT(find().value().sites.of, ElementsAre(0, 0, 0, 0, 1, 1));
}

}  // namespace
}  // namespace alm::meeting
