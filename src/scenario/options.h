// The options of simulations, as they are asked for: each has its type and lies in its range. A new
// one is a line in options.def and a use. What they mean for a cluster is a Scenario (scenario.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "harness/simulation.h"
#include "plan/plan.h"
#include "routing/routes.h"
#include "scenario/value.h"
#include "sim/options.h"
#include "tcp/config.h"
#include "transport/config.h"

namespace alm::scenario {

constexpr std::uint64_t kSizeMax = std::uint64_t{1} << 40;  // of a block
constexpr std::uint32_t kDatagramMax = 65507;
constexpr double kMbitMax = 1e6;
constexpr double kMega = 1e6;
constexpr double kOverheadMax = 1e9;  // us

using Rows = std::vector<std::vector<std::uint64_t>>;
inline constexpr std::string_view kRows =
    "senders; expected rows of whole numbers of bytes, 0 or more";

inline const plan::Named kSyncShuffle{plan::Algorithm::kSyncShuffle, {}};
inline constexpr sim::Picos kPicosPerMilli = sim::kPicosPerSecond / 1000;

// One of ours, or one of an MPI library, which goes over TCP: then the one of ours is `direct`,
// whose limit it has.
struct Algorithm : plan::Named {
  // Implicit: ours are what plans are named by.
  Algorithm(plan::Named ours = kSyncShuffle) : plan::Named(std::move(ours)) {}
  std::string stock;  // as model::StockSchedule has it; empty: one of ours
};

base::Result<Algorithm> parse_algorithm(std::string_view text);

// Hosts, switches and links by name.
struct BackgroundFlow {
  std::string from, to;
  double rate_mbit_s = 0;  // 0: no bound
};

struct RoutesOfPair {
  std::string from, to;
  std::vector<std::vector<std::string>> routes;  // the switches of each
};

struct Overheads {
  sim::Picos o_s = 0, u_r = 0, o_r = 0, g = 0, turn = 0;
};

struct Fault {
  sim::Fault what;  // without host and port
  std::string host, from, to;
  std::optional<double> duration_packets;  // in place of the duration
};

struct Module {
  std::string from, to;
  sim::Module what;  // without the link
};

struct Options {
#define ALM_SCENARIO_OPTION(key, Type, otherwise, rule) Type key = otherwise;
#include "scenario/options.def"
#undef ALM_SCENARIO_OPTION

  bool split_jobs() const { return job_layout == "split" && jobs > 1; }
};

struct FlowOptions {
#define ALM_SCENARIO_OPTION(key, Type, otherwise, rule) Type key = otherwise;
#include "scenario/flow_options.def"
#undef ALM_SCENARIO_OPTION
};

// kBadInput: an unknown key, a value out of range or an unknown name.
base::Result<Options> read_options(const Table& given);
base::Result<FlowOptions> read_flow_options(const Table& given);

}  // namespace alm::scenario
