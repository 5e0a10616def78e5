// simulate_flows: a complete exchange as fluid flows (sim/flow.h), by the plan's rounds.
#include "sim/flow.h"

#include <fmt/core.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "bindings/bindings.h"
#include "plan/plan.h"
#include "topology/graph.h"
#include "wire/header.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace alm::bindings {
namespace {

constexpr std::uint32_t kRanksMax = 65'536;  // what 16 bits count; 8 GiB of rounds

// Options by name; take() removes, so that what is left over is unknown.
class Options {
 public:
  explicit Options(const nb::dict& given) {
    for (const auto& [key, value] : given) left_[key] = value;
  }
  template <class T>
  T take(const char* name, T fallback) {
    if (!left_.contains(name)) return fallback;
    T value = fallback;
    const nb::object object = left_[name];
    if (!nb::try_cast(object, value)) {
      throw RaisedError{base::bad_input(fmt::format("option `{}`: `{}` is of the wrong type", name,
                                                    nb::cast<std::string>(nb::str(object))))};
    }
    nb::del(left_[name]);
    return value;
  }
  void expect_none_left() const {
    for (const auto& [key, value] : left_) {
      throw RaisedError{base::bad_input(
          fmt::format("option `{}` is unknown to flow mode; expected algorithm, permutation, "
                      "contention_aware, omega, size, exchanges, routing, rounds or overhead_us",
                      nb::cast<std::string>(nb::str(key))))};
    }
  }

 private:
  nb::dict left_;
};

// Who sends to whom in which round. Plans are kept whole where each rank goes on by itself; where
// rounds are entered together only the receivers are, in 16 bits: 16,384 hosts in half a gigabyte.
class Rounds {
 public:
  Rounds(plan::Request request, bool whole) : ranks_(request.ranks) {
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
      request.self = {rank};
      plan::Plan plan = value_or_raise(plan::make_plan(request));
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

sim::FlowRounds parse_rounds(const std::string& name) {
  if (name == "auto") return sim::FlowRounds::kChoose;
  if (name == "free") return sim::FlowRounds::kFree;
  if (name == "together") return sim::FlowRounds::kTogether;
  throw RaisedError{base::bad_input(
      fmt::format("rounds `{}` are unknown; expected auto, free or together", name))};
}

nb::dict result_of(const sim::FlowResult& result, std::uint32_t exchanges) {
  nb::list ports;
  for (const sim::FlowPortLoad& load : result.ports) {
    nb::dict port;
    port["name"] = load.name;
    port["bytes"] = load.bytes * exchanges;
    port["busy_s"] = load.busy * result.seconds * exchanges;
    ports.append(port);
  }
  nb::dict out;
  out["time_s"] = result.seconds;
  out["bottleneck"] = result.bottleneck;
  out["rounds"] = result.together ? "together" : "free";
  out["flows"] = result.flows * exchanges;
  out["events"] = result.fillings * exchanges;
  out["ports"] = ports;
  out["rank_time_s"] = result.rank_seconds;
  return out;
}

nb::dict simulate_flows(const topology::Cluster& cluster, const nb::dict& given,
                        const nb::object& progress) {
  Options options(given);
  plan::Request plan;
  plan.ranks = cluster.host_count();
  const auto name = options.take<std::string>("algorithm", "sync-shuffle");
  auto named = value_or_raise(plan::parse_named(name));
  plan.algorithm = named.algorithm;
  plan.shape = std::move(named.shape);
  plan.permutation =
      value_or_raise(plan::parse_permutation(options.take<std::string>("permutation", "balanced")));
  plan.contention_aware = options.take("contention_aware", true);
  plan.omega = options.take<std::uint32_t>("omega", 0);
  const auto size = options.take<std::uint64_t>("size", 0);
  const auto exchanges = options.take<std::uint32_t>("exchanges", 1);
  sim::FlowRequest request;
  request.routing =
      value_or_raise(routing::parse_rule(options.take<std::string>("routing", "d-mod-k")));
  request.mode = parse_rounds(options.take<std::string>("rounds", "auto"));
  request.overhead_s = options.take("overhead_us", 0.0) * 1e-6;
  options.expect_none_left();
  if (plan.ranks > kRanksMax) {
    throw RaisedError{base::bad_input(fmt::format("cluster `{}` has {} hosts; flow mode takes {}",
                                                  cluster.name, plan.ranks, kRanksMax))};
  }
  for (std::uint32_t i = 0; i < plan.ranks; ++i) request.participants.push_back({i});
  const std::uint64_t payload =
      cluster.framing.mtu_bytes - topology::kIpUdpBytes - wire::kHeaderBytes;
  const std::uint64_t around =
      topology::kIpUdpBytes + wire::kHeaderBytes + cluster.framing.link_header_bytes;
  request.wire_bytes = size + (size + payload - 1) / payload * around;
  request.packet_wire_bytes = std::min(size, payload) + around;
  if (size == 0) request.wire_bytes = 0;  // refused below, with the reason

  plan::Request first = plan;
  first.self = {0};
  if (!value_or_raise(plan::make_plan(first)).phases.front().direct()) {
    throw RaisedError{base::bad_input(fmt::format(
        "flow level does not follow `{}`, which combines messages in phases; simulate packets",
        name))};
  }
  const bool one_round =
      plan.algorithm == plan::Algorithm::kDirect || plan.algorithm == plan::Algorithm::kSyncShuffle;
  std::unique_ptr<Rounds> rounds;
  if (!one_round && plan.ranks > 1) {
    plan.leaf_of = leaves_of(cluster, participants(cluster, std::nullopt));
    const bool one_partner = plan.algorithm == plan::Algorithm::kPairwise ||
                             plan.algorithm == plan::Algorithm::kShiftExchange;
    if (one_partner && request.mode == sim::FlowRounds::kChoose && !topology::is_tree(cluster)) {
      throw RaisedError{base::bad_input(
          "flow level does not follow rounds of one partner on a network with several paths: ranks "
          "drift apart and collide, and the time came out up to 72 % off; simulate packets, or "
          "give "
          "rounds=free or rounds=together for a rough figure")};
    }
    const std::uint64_t flows = std::uint64_t{plan.ranks} * (plan.ranks - 1);
    if (request.mode == sim::FlowRounds::kChoose && flows > sim::kFreeFlowsMax) {
      request.mode = sim::FlowRounds::kTogether;
    }
    rounds = std::make_unique<Rounds>(plan, request.mode != sim::FlowRounds::kTogether);
    request.rounds = rounds->count();
    request.sends = [&](base::Rank rank, std::uint32_t round) {
      return rounds->sends(rank, round);
    };
    request.receives = [&](base::Rank rank, std::uint32_t round) {
      return rounds->receives(rank, round);
    };
  } else if (request.mode == sim::FlowRounds::kFree) {
    request.mode = sim::FlowRounds::kTogether;  // one round is the same either way
  }
  if (!progress.is_none()) {
    request.progress = [&](double done) {
      progress(done);
      return true;
    };
  }
  return result_of(value_or_raise(sim::simulate_flows(cluster, request)), exchanges);
}

}  // namespace

void bind_flow(nb::module_& m) {
  m.def("simulate_flows", simulate_flows, "cluster"_a, "options"_a,
        "progress"_a.none() = nb::none(),
        nb::sig("def simulate_flows(cluster: Cluster, options: dict[str, "
                "typing.Any], progress: collections.abc.Callable[[float], object] | None = None) "
                "-> dict[str, typing.Any]"),
        "One exchange among all hosts as max-min fair flows. `progress` is called with the part "
        "done, 0 to 1.");
}

}  // namespace alm::bindings
