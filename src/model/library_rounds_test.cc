#include "model/library_rounds.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "topology/cluster.h"

namespace alm::model {
namespace {

using Pairs = std::set<std::pair<std::uint32_t, std::uint32_t>>;

TEST(LibraryRounds, EveryPairComesOnceAndARankSendsOncePerRound) {
  for (const auto* candidate : {"openmpi:pairwise", "mpich:pairwise"}) {
    for (std::uint32_t ranks = 2; ranks <= 17; ++ranks) {
      Pairs seen;
      for (const Round& round : library_rounds(candidate, ranks)) {
        std::set<std::uint32_t> senders, receivers;
        for (const Message& one : round.messages) {
          EXPECT_NE(one.from, one.to);
          EXPECT_TRUE(seen.emplace(one.from, one.to).second);
          senders.insert(one.from);
          receivers.insert(one.to);
        }
        EXPECT_EQ(senders.size(), ranks);
        EXPECT_EQ(receivers.size(), ranks);
      }
      EXPECT_EQ(seen.size(), std::size_t{ranks} * (ranks - 1)) << candidate << " " << ranks;
    }
  }
}

TEST(LibraryRounds, OfOtherAlgorithmsNoneAreKnown) {
  EXPECT_TRUE(library_rounds("openmpi:linear", 8).empty());
  EXPECT_TRUE(library_rounds("openmpi", 8).empty());
}

// Two leaves of four with an uplink that takes two hosts at full rate. Between the leaves go 16 of
// 56 blocks each way: 8 rounds' worth of an uplink of two, so that 7 rounds become 8.
TEST(LibraryRounds, CrowdedRoundsAreNotMadeUpForByIdleOnes) {
  const auto cluster = topology::build_tree(topology::TreeSpec{{4, 4}, 100, 200});
  std::vector<base::HostId> hosts;
  for (std::uint32_t i = 0; i < 8; ++i) hosts.push_back({i});
  const LinkBound links(cluster, hosts);
  // By xor steps 1 to 3 stay below the leaves, and the others cross with four blocks each way,
  // which takes two rounds' time: 3 + 4 x 2 = 11.
  EXPECT_NEAR(rounds_over_complete("mpich:pairwise", links, 8), 11.0 / 8, 1e-12);
  // By shift k = 1 .. 7 crosses with 1, 2, 3, 4, 3, 2, 1 blocks: 1 + 1 + 1.5 + 2 + 1.5 + 1 + 1 = 9.
  EXPECT_NEAR(rounds_over_complete("openmpi:pairwise", links, 8), 9.0 / 8, 1e-12);
  EXPECT_EQ(rounds_over_complete("openmpi:linear", links, 8), 1);
}

}  // namespace
}  // namespace alm::model
