// What a job takes first is what predictions name, whatever the network.
#include "ways/repertoire.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>
#include <string>

#include "topology/cluster.h"
#include "topology/find_hosts.h"
#include "tuning/own_ways.h"

namespace alm::ways {
namespace {

class Networks {
 public:
  explicit Networks(std::uint32_t seed) : random_(seed) {}

  // Hosts below leaves that hang on a core or on each other in a row; each leaf may be a site.
  topology::Cluster any() {
    const std::uint32_t leaves = between(1, 4);
    const bool sites = leaves > 1 && between(0, 2) == 0;
    const bool row = sites || between(0, 1) == 0;
    std::string text = "format = 1\nname = \"any\"\n[framing]\nmtu_bytes = " + mtu() + "\n";
    std::uint32_t hosts = 0;
    std::string links;
    for (std::uint32_t leaf = 0; leaf < leaves; ++leaf) {
      const std::string name = "leaf" + std::to_string(leaf);
      text += "[[switch]]\nname = \"" + name + "\"\n";
      if (sites) text += "site = \"" + name + "\"\n";
      for (std::uint32_t left = between(1, 8); left > 0; --left) {
        const std::string host = "h" + std::to_string(hosts++);
        text += "[[host]]\nname = \"" + host + "\"\n";
        links += link(host, name, 1, 0);
      }
      if (!row) links += link(name, "core", between(1, 8), 0);
      if (row && leaf > 0) {
        links += link("leaf" + std::to_string(leaf - 1), name, between(1, 4),
                      sites ? between(100, 20'000) : 0);
      }
    }
    if (!row) text += "[[switch]]\nname = \"core\"\n";
    return topology::parse_cluster(text + links, "any").value();
  }

  std::uint64_t any_size() { return std::uint64_t{1} << between(0, 20) | between(0, 255); }

 private:
  std::uint32_t between(std::uint32_t least, std::uint32_t most) {
    return std::uniform_int_distribution<std::uint32_t>(least, most)(random_);
  }
  std::string mtu() {
    constexpr std::uint32_t kUsual[] = {576, 1280, 1500, 4096, 9000};
    return std::to_string(kUsual[between(0, 4)]);
  }
  std::string link(const std::string& from, const std::string& to, std::uint32_t times,
                   std::uint32_t latency_us) {
    const std::uint32_t queue = between(20, 400);
    return "[[link]]\nfrom = \"" + from + "\"\nto = \"" + to +
           "\"\nrate_mbit_s = " + std::to_string(times * 1000) +
           "\nqueue_up_packets = " + std::to_string(queue) +
           "\nqueue_down_packets = " + std::to_string(queue) +
           (latency_us > 0 ? "\nlatency_us = " + std::to_string(latency_us) : "") + "\n";
  }

  std::mt19937 random_;
};

// As bring-up fills it in, on hosts with a rank each.
meeting::Members members_of(const topology::Cluster& cluster) {
  meeting::Members out;
  out.hosts = topology::all_hosts(cluster);
  for (const topology::Host& host : cluster.hosts) out.host_names.push_back(host.name);
  out.ranks = cluster.host_count();
  out.placement = plan::Placement::of(
      std::vector<std::string_view>(out.host_names.begin(), out.host_names.end()));
  out.leaves = topology::schedule_hierarchy(cluster).of(out.hosts);
  out.sites = tuning::sites_of(cluster, out.hosts);
  out.tuning = plan::tune(cluster, out.hosts);
  return out;
}

TEST(Repertoire, AJobTakesFirstWhatPredictionsName) {
  constexpr std::uint32_t kNetworks = 1000;
  const auto options = base::load_options({}).value();
  std::uint32_t combined = 0, between_sites = 0;
  for (std::uint32_t seed = 0; seed < kNetworks; ++seed) {
    Networks networks(seed);
    const auto cluster = networks.any();
    if (cluster.host_count() < 2) continue;
    const auto hosts = topology::all_hosts(cluster);
    const meeting::Members members = members_of(cluster);
    Repertoire job(members);
    ASSERT_TRUE(job.plan(options, nullptr, &cluster));
    const auto predicted = tuning::usual_ways(cluster, hosts).value();
    job.fit(predicted.packet_bytes());  // the route carries what the file says
    job.take_udp(UINT64_MAX);
    EXPECT_LE(job.phases(), job.phases_max());
    const auto named = tuning::named_ways(cluster, hosts).value();
    for (int sizes = 0; sizes < 3; ++sizes) {
      const std::uint64_t bytes = networks.any_size();
      const std::string first = job.key_of(job.model_way(bytes));
      ASSERT_EQ(first, predicted.key_of(predicted.first(bytes)))
          << "seed " << seed << ", blocks of " << bytes << " bytes\n"
          << topology::to_toml(cluster);
      EXPECT_TRUE(std::any_of(named.begin(), named.end(), [&](const auto& way) {
        return way.key == first;
      })) << first;
      EXPECT_EQ(job.candidates(bytes).front(), job.model_way(bytes));
      combined += job.model_way(bytes).kind == tuning::Way::Kind::kPhased ? 1 : 0;
      between_sites += members.sites.empty() ? 0 : 1;
    }
  }
  // Otherwise this tells little.
  EXPECT_GT(combined, kNetworks / 2);
  EXPECT_GT(between_sites, kNetworks / 4);
}

void take_messages(Repertoire& job, const base::Options& options) {
  ASSERT_TRUE(job.plan(options));
  ASSERT_TRUE(job.plan_messages(options));
  job.take_messages();
}

TEST(Repertoire, WhereUdpCannotGoTinyBlocksAreCombinedWithoutATrial) {
  const std::vector<std::string_view> names = {"a", "b", "c", "d", "e", "f", "g", "h"};
  meeting::Members members;
  members.placement = plan::Placement::of(names);
  members.ranks = members.placement.hosts();
  auto options = base::load_options({}).value();
  Repertoire job(members);
  take_messages(job, options);
  EXPECT_EQ(job.key_of(job.model_way(8)), "mpi bruck");
  EXPECT_EQ(job.candidates(8).front(), job.model_way(8));
  EXPECT_EQ(job.model_way(1000), tuning::Way{});
  options.algorithm = "sync-shuffle";
  Repertoire asked_for(members);
  take_messages(asked_for, options);
  EXPECT_EQ(asked_for.model_way(8), tuning::Way{});
}

}  // namespace
}  // namespace alm::ways
