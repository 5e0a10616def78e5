#include "scenario/flows.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "plan/plan.h"
#include "topology/cluster.h"
#include "topology/find_hosts.h"
#include "topology/graph.h"
#include "wire/header.h"

namespace alm::scenario {
namespace {

constexpr std::uint32_t kRanksMax = 65'536;  // what 16 bits count; 8 GiB of rounds

// Who sends to whom in which round. Plans are kept whole where each rank goes on by itself; where
// rounds are entered together only the receivers are, in 16 bits: 16,384 hosts in half a gigabyte.
class Rounds {
 public:
  explicit Rounds(std::uint32_t ranks) : ranks_(ranks) {}

  base::Status make(plan::Request request, bool whole) {
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
      request.self = {rank};
      auto made = plan::make_plan(request);
      if (!made) return made.error();
      plan::Plan plan = std::move(made).value();
      count_ = std::max(count_, static_cast<std::uint32_t>(plan.rounds().count()));
      if (whole) {
        plans_.push_back(std::move(plan));
        continue;
      }
      width_ = std::max(width_, plan.rounds().send_begin[1]);
      for (const base::PeerId to : plan.rounds().send) {
        sends_.push_back(static_cast<std::uint16_t>(to));
      }
    }
    return {};
  }

  std::uint32_t count() const { return count_; }

  std::span<const base::Rank> sends(base::Rank rank, std::uint32_t round) {
    if (plans_.empty()) return packed(rank, round);
    const base::Rounds& rounds = plans_[rank.value].rounds();
    return part(rounds.send, rounds.send_begin, round, sends_now_);
  }
  std::span<const base::Rank> receives(base::Rank rank, std::uint32_t round) {
    const base::Rounds& rounds = plans_[rank.value].rounds();
    return part(rounds.recv, rounds.recv_begin, round, receives_now_);
  }

 private:
  static std::span<const base::Rank> part(const std::vector<base::PeerId>& all,
                                          const std::vector<std::uint32_t>& begin,
                                          std::uint32_t round, std::vector<base::Rank>& now) {
    now.clear();
    if (round + 1 >= begin.size()) return now;
    for (std::uint32_t i = begin[round]; i < begin[round + 1]; ++i) now.push_back({all[i]});
    return now;
  }

  std::span<const base::Rank> packed(base::Rank rank, std::uint32_t round) {
    sends_now_.clear();
    const std::size_t peers = ranks_ - 1;
    const std::size_t end = std::min<std::size_t>(peers, std::size_t{round + 1} * width_);
    for (std::size_t i = std::size_t{round} * width_; i < end; ++i) {
      sends_now_.push_back({sends_[rank.value * peers + i]});
    }
    return sends_now_;
  }

  std::uint32_t ranks_;
  std::uint32_t count_ = 0;
  std::uint32_t width_ = 1;
  std::vector<plan::Plan> plans_;
  std::vector<std::uint16_t> sends_;
  std::vector<base::Rank> sends_now_, receives_now_;
};

sim::FlowRounds mode_of(const std::string& name) {
  if (name == "free") return sim::FlowRounds::kFree;
  return name == "together" ? sim::FlowRounds::kTogether : sim::FlowRounds::kChoose;
}

sim::FlowRequest request_of(const topology::Cluster& cluster, const FlowOptions& options) {
  sim::FlowRequest out;
  out.routing = options.routing;
  out.mode = mode_of(options.rounds);
  out.overhead_s = options.overhead_us * 1e-6;
  out.participants = topology::all_hosts(cluster);
  if (options.size == 0) return out;  // refused, with the reason, by sim::simulate_flows
  const std::uint64_t payload =
      cluster.framing.mtu_bytes - topology::kIpUdpBytes - wire::kHeaderBytes;
  const std::uint64_t around =
      topology::kIpUdpBytes + wire::kHeaderBytes + cluster.framing.link_header_bytes;
  const std::uint64_t size = options.size;
  out.wire_bytes = size + (size + payload - 1) / payload * around;
  out.packet_wire_bytes = std::min(size, payload) + around;
  return out;
}

plan::Request plan_of(const topology::Cluster& cluster, const FlowOptions& options) {
  return {.ranks = cluster.host_count(),
          .self = {0},
          .algorithm = options.algorithm.algorithm,
          .permutation = options.permutation,
          .contention_aware = options.contention_aware,
          .omega = options.omega,
          .shape = options.algorithm.shape};
}

}  // namespace

base::Result<sim::FlowResult> simulate_flows(const topology::Cluster& cluster,
                                             const FlowOptions& options,
                                             std::function<bool(double)> progress) {
  plan::Request plan = plan_of(cluster, options);
  if (plan.ranks > kRanksMax) {
    return base::bad_input(fmt::format("cluster `{}` has {} hosts; flow mode takes {}",
                                       cluster.name, plan.ranks, kRanksMax));
  }
  const auto first = plan::make_plan(plan);
  if (!first) return first.error();
  if (!first.value().phases.front().direct()) {
    return base::bad_input(fmt::format(
        "flow level does not follow `{}`, which combines messages in phases; simulate packets",
        plan::name_of(plan.algorithm)));
  }
  sim::FlowRequest request = request_of(cluster, options);
  const bool one_round =
      plan.algorithm == plan::Algorithm::kDirect || plan.algorithm == plan::Algorithm::kSyncShuffle;
  Rounds rounds(plan.ranks);
  if (!one_round && plan.ranks > 1) {
    plan.leaf_of = topology::schedule_hierarchy(cluster).of(request.participants);
    const bool one_partner = plan.algorithm == plan::Algorithm::kPairwise ||
                             plan.algorithm == plan::Algorithm::kShiftExchange;
    if (one_partner && request.mode == sim::FlowRounds::kChoose && !topology::is_tree(cluster)) {
      return base::bad_input(
          "flow level does not follow rounds of one partner on a network with several paths: ranks "
          "drift apart and collide, and the time came out up to 72 % off; simulate packets, or "
          "give "
          "rounds=free or rounds=together for a rough figure");
    }
    const std::uint64_t flows = std::uint64_t{plan.ranks} * (plan.ranks - 1);
    if (request.mode == sim::FlowRounds::kChoose && flows > sim::kFreeFlowsMax) {
      request.mode = sim::FlowRounds::kTogether;
    }
    const bool whole = request.mode != sim::FlowRounds::kTogether;
    if (auto made = rounds.make(std::move(plan), whole); !made) return made.error();
    request.rounds = rounds.count();
    request.sends = [&](base::Rank rank, std::uint32_t round) { return rounds.sends(rank, round); };
    request.receives = [&](base::Rank rank, std::uint32_t round) {
      return rounds.receives(rank, round);
    };
  } else if (request.mode == sim::FlowRounds::kFree) {
    request.mode = sim::FlowRounds::kTogether;  // one round is the same either way
  }
  request.progress = std::move(progress);
  return sim::simulate_flows(cluster, request);
}

}  // namespace alm::scenario
