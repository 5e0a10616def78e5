// What the cluster file alone tells of the ways of ours.
#include <utility>

#include "plan/multi_site.h"
#include "topology/cluster.h"
#include "tuning/own_ways.h"
#include "tuning/way_key.h"
#include "wire/header.h"

namespace alm::tuning {
namespace {

std::uint32_t packet_bytes_of(const topology::Cluster& cluster) {
  return topology::payload_bytes(cluster.framing) - wire::kHeaderBytes;
}

OwnWaysWanted wanted_of(const topology::Cluster& cluster, std::span<const base::HostId> hosts) {
  return {.hosts = static_cast<std::uint32_t>(hosts.size()),
          .leaves = topology::schedule_hierarchy(cluster).of(hosts),
          .sites = sites_of(cluster, hosts)};
}

class Ways {
 public:
  Ways(const topology::Cluster& cluster, std::span<const base::HostId> hosts)
      : packet_bytes_(packet_bytes_of(cluster)), tuning_(plan::tune(cluster, hosts)) {
    const OwnWaysWanted wanted = wanted_of(cluster, hosts);
    request_ = {
        .ranks = wanted.hosts, .self = {0}, .leaf_of = wanted.leaves, .site_of = wanted.sites};
  }

  base::Result<std::vector<NamedWay>> all() {
    using plan::Algorithm;
    for (const auto algorithm :
         {Algorithm::kSyncShuffle, Algorithm::kGroupShuffle, Algorithm::kPairwise,
          Algorithm::kShiftExchange, Algorithm::kDirect}) {
      if (auto added = add_named(algorithm); !added) return added.error();
    }
    for (const plan::Plan& plan :
         plan::combining_plans(request_.ranks, request_.self, request_.leaf_of, packet_bytes_)) {
      if (auto added = add(plan); !added) return added.error();
    }
    if (!request_.site_of.empty()) {
      if (auto added = add_between_sites(); !added) return added.error();
    }
    return std::move(out_);
  }

 private:
  base::Status add_named(plan::Algorithm algorithm) {
    plan::Request request = request_;
    request.algorithm = algorithm;
    const auto made = plan::make_plan(request);
    return made ? add(made.value()) : base::Status(made.error());
  }

  base::Status add(const plan::Plan& plan, bool combined = false) {
    auto shape = shape_of(plan, request_.leaf_of, request_.site_of, &tuning_, combined);
    if (!shape) return shape.error();
    std::string algorithm(combined ? plan::name_of(plan.algorithm) : family_of(plan.identity));
    out_.push_back({std::move(algorithm), key_over_udp(plan.identity), std::move(shape).value()});
    return {};
  }

  // Multi-site means one way for large blocks and another for small ones.
  base::Status add_between_sites() {
    plan::Request request = request_;
    request.algorithm = plan::Algorithm::kMultiSite;
    const std::uint64_t combined_max = plan::combined_bytes_max(request, packet_bytes_);
    if (auto added = add_named(plan::Algorithm::kMultiSite); !added) return added;
    out_.back().bytes_least = combined_max + 1;
    if (combined_max > 0) {
      request.combined = true;
      const auto made = plan::make_plan(request);
      if (!made) return made.error();
      if (auto added = add(made.value(), true); !added) return added;
      out_.back().bytes_most = combined_max;
    }
    if (auto added = add_named(plan::Algorithm::kLocalGroup); !added) return added;
    return add_named(plan::Algorithm::kCoordinator);
  }

  std::uint32_t packet_bytes_;
  plan::Tuning tuning_;
  plan::Request request_;
  std::vector<NamedWay> out_;
};

}  // namespace

base::Result<OwnWays> usual_ways(const topology::Cluster& cluster,
                                 std::span<const base::HostId> hosts) {
  auto ways = OwnWays::make(wanted_of(cluster, hosts));
  if (!ways) return ways;
  ways.value().fit(packet_bytes_of(cluster));
  if (ways.value().know_sites()) {
    const plan::Tuning tuning = plan::tune(cluster, hosts);
    ways.value().foresee(cluster, hosts, &tuning);
  }
  return ways;
}

base::Result<std::vector<NamedWay>> named_ways(const topology::Cluster& cluster,
                                               std::span<const base::HostId> hosts) {
  return Ways(cluster, hosts).all();
}

}  // namespace alm::tuning
