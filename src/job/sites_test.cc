#include "job/sites.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace alm::job {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Four hosts of two ranks each.
class Sites : public testing::Test {
 protected:
  Sites() {
    const std::vector<std::string_view> views(host_names_.begin(), host_names_.end());
    placement_ = plan::Placement::of(views);
  }
  auto find(const SitesSaid& said) const { return sites_of_hosts(placement_, host_names_, said); }
  std::string error(const SitesSaid& said) const {
    const auto found = find(said);
    if (!found) return found.error().message;
    const auto several = found.value().several();
    return several ? "none" : several.error().message;
  }

  std::vector<std::string> host_names_ = {"h0", "h0", "h1", "h1", "h2", "h2", "h3", "h3"};
  plan::Placement placement_;
};

TEST_F(Sites, ByTheCountsOfRanks) {
  EXPECT_THAT(find({.sites = "2,4,2"}).value().of, ElementsAre(0, 1, 1, 2));
  EXPECT_THAT(error({.sites = "2,4"}), HasSubstr("does not add up to the 8 ranks"));
  EXPECT_THAT(error({.sites = "4,5"}), HasSubstr("does not add up to the 8 ranks"));
  for (const char* wrong : {"4,x", "4,,4", "0,8", "4;4", ",8"}) {
    EXPECT_THAT(error({.sites = wrong}), HasSubstr("is no list of ranks of sites")) << wrong;
  }
  EXPECT_THAT(error({.sites = "3,5"}), HasSubstr("h1 is at two sites, `site 0` and `site 1`"));
}

TEST_F(Sites, ByTheHostsOfEach) {
  EXPECT_THAT(find({.sites = "b=h[2-3]/a=h[0-1]"}).value().of, ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(find({.sites = "b=h0,h3/a=h1/c=h2/d=h9"}).value().of, ElementsAre(0, 1, 2, 0));
  EXPECT_THAT(error({.sites = "a=h[0-2]/b=h[2-3]"}),
              HasSubstr("host h2 is named at `a` and at `b`"));
  EXPECT_THAT(error({.sites = "a=h[0-1]/b=h3"}), HasSubstr("h2 (rank 4) is at none of the sites"));
  EXPECT_THAT(error({.sites = "a=h[0-3]"}), HasSubstr("all hosts are at `a`"));
  for (const char* wrong : {"a=", "=h0", "a=h0//b=h1", "a=h[0-", "a=h0/b"}) {
    EXPECT_THAT(error({.sites = wrong}), HasSubstr("expected NAME=HOSTS")) << wrong;
  }
}

TEST_F(Sites, ByTheNamesThatHostsSay) {
  const std::vector<std::string> names = {"b", "b", "a", "a", "b", "b", "a", "a"};
  EXPECT_THAT(find({.names = names}).value().of, ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(find({.names = names}).value().names, ElementsAre("b", "a"));
  auto without = names;
  without[4].clear();
  EXPECT_THAT(error({.names = without}), HasSubstr("not set on h2 (rank 4)"));
  auto two = names;
  two[7] = "c";
  EXPECT_THAT(error({.names = two}), HasSubstr("h3 is at two sites, `a` and `c`"));
  const std::vector<std::string> one(8, "a");
  EXPECT_THAT(error({.names = one}), HasSubstr("all hosts are at `a`"));
  EXPECT_THAT(find({.sites = "4,4", .names = one}).value().of, ElementsAre(0, 0, 1, 1));
}

TEST_F(Sites, ByTheClusterFile) {
  topology::Cluster cluster = topology::build_tree({.groups = {2, 2}});
  const std::vector<base::HostId> hosts = {{3}, {2}, {0}, {1}};
  EXPECT_THAT(error({.cluster = &cluster, .hosts = hosts}), HasSubstr("nothing says where"));
  cluster.switches[0].site = "a";
  cluster.switches[1].site = "b";
  EXPECT_THAT(find({.cluster = &cluster, .hosts = hosts}).value().of, ElementsAre(0, 0, 1, 1));
  std::vector<std::string> names = {"b", "b", "b", "b", "a", "a", "a", "a"};
  EXPECT_EQ(error({.names = names, .cluster = &cluster, .hosts = hosts}), "none");
  names[2] = names[3] = "bb";
  EXPECT_THAT(error({.names = names, .cluster = &cluster, .hosts = hosts}),
              HasSubstr("ALLEMANDE_SITE=`bb` on h1 (rank 2) is no site of the cluster file; "
                        "expected one of a, b"));
}

TEST_F(Sites, AnOptionThatIsWrongInAnyJob) {
  for (const char* good : {"", "30,30", "a=h[0-1]/b=h9"}) EXPECT_TRUE(check_sites(good)) << good;
  for (const char* wrong : {"4,x", "0,8", "a=h[0-", "a=h0/b=h[0-1]"}) {
    EXPECT_FALSE(check_sites(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace alm::job
