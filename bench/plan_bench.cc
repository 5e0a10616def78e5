// What a rank pays for its plan: < 1 ms for 1024 ranks below equal leaves, < 20 ms below unequal
// ones. Run: ninja plan_bench && src/plan/plan_bench
#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "plan/tune.h"
#include "topology/cluster.h"

namespace {

using alm::plan::Permutation;

std::vector<std::uint32_t> equal_leaves(std::uint32_t ranks) {
  std::vector<std::uint32_t> out(ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) out[rank] = rank / 32;
  return out;
}

// Leaves of 1, 2, 3, .. hosts, as far as the ranks go.
std::vector<std::uint32_t> unequal_leaves(std::uint32_t ranks) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t leaf = 0; out.size() < ranks; ++leaf) {
    for (std::uint32_t host = 0; host <= leaf && out.size() < ranks; ++host) out.push_back(leaf);
  }
  return out;
}

void run(benchmark::State& state, Permutation permutation, std::vector<std::uint32_t> leaf) {
  const auto ranks = static_cast<std::uint32_t>(leaf.size());
  const alm::plan::Request request{.ranks = ranks,
                                   .self = {ranks / 3},
                                   .permutation = permutation,
                                   .leaf_of = {std::move(leaf)}};
  for (auto _ : state) benchmark::DoNotOptimize(alm::plan::make_plan(request));
}

void plan_equal(benchmark::State& state, Permutation permutation) {
  run(state, permutation, equal_leaves(static_cast<std::uint32_t>(state.range(0))));
}

void plan_unequal(benchmark::State& state, Permutation permutation) {
  run(state, permutation, unequal_leaves(static_cast<std::uint32_t>(state.range(0))));
}

// Every line of the table.
void plan_algorithm(benchmark::State& state) {
  const auto algorithm = static_cast<alm::plan::Algorithm>(state.range(0));
  const alm::plan::Request request{
      .ranks = 1024, .self = {341}, .algorithm = algorithm, .leaf_of = {equal_leaves(1024)}};
  state.SetLabel(std::string(alm::plan::name_of(algorithm)));
  for (auto _ : state) benchmark::DoNotOptimize(alm::plan::make_plan(request));
}

void tune(benchmark::State& state) {
  alm::topology::TreeSpec spec;
  spec.groups.assign(static_cast<std::size_t>(state.range(0)) / 32, 32);
  const alm::topology::Cluster cluster = alm::topology::build_tree(spec);
  std::vector<alm::base::HostId> hosts;
  for (std::uint32_t host = 0; host < cluster.host_count(); ++host) hosts.push_back({host});
  for (auto _ : state) benchmark::DoNotOptimize(alm::plan::tune(cluster, hosts));
}

}  // namespace

BENCHMARK_CAPTURE(plan_equal, balanced, Permutation::kBalanced)->Arg(1024)->Arg(16384);
BENCHMARK_CAPTURE(plan_equal, shift, Permutation::kShift)->Arg(1024);
BENCHMARK_CAPTURE(plan_equal, exclusive_or, Permutation::kXor)->Arg(1024);
BENCHMARK_CAPTURE(plan_equal, edge_colouring, Permutation::kEdgeColouring)->Arg(1024);
BENCHMARK_CAPTURE(plan_unequal, balanced, Permutation::kBalanced)->Arg(1024)->Arg(16384);
BENCHMARK_CAPTURE(plan_unequal, shift, Permutation::kShift)->Arg(1024);
BENCHMARK(plan_algorithm)
    ->DenseRange(0, static_cast<int>(alm::plan::Algorithm::kRecursiveDoubling));
BENCHMARK(tune)->Arg(1024);

BENCHMARK_MAIN();
