// Which plans are made, by the options.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/options.h"
#include "base/result.h"
#include "meeting/members.h"
#include "plan/placement.h"
#include "plan/plan.h"
#include "plan/tune.h"
#include "topology/cluster.h"
#include "tuning/own_ways.h"

namespace alm::ways {

// Values of the option `algorithm` that name no single algorithm.
constexpr std::string_view kAutomatic = "auto";
constexpr std::string_view kCombine = "combine";

// Whether the option names an algorithm that knows sites, whose phases carry blocks of one size
// over UDP.
bool knows_sites(const base::Options& options);
// Whether algorithms that know sites are among the candidates, if it is known what the sites are.
bool may_take_sites(const base::Options& options);
// The request for the algorithm that the option names. `sites` lies as `leaves` does, by host or by
// rank.
base::Result<plan::Request> site_request(const base::Options& options, const plan::LeafOf& leaves,
                                         std::span<const std::uint32_t> sites, std::uint32_t self);
// Whether ways are tried and the fastest is kept. An algorithm that the option names is taken
// without a trial.
bool wants_trials(const base::Options& options);

// Leaders per host: what the option says, or as many as a host's link in the cluster file may need.
// `tuning` is null without a cluster file.
std::uint32_t leaders_wanted(const base::Options& options, const plan::Placement& placement,
                             const plan::Tuning* tuning);
// Whether the number of leaders is fixed, not tried.
bool fixes_leaders(const base::Options& options);

// The position of each rank in the hierarchy, for exchanges of ranks: the lowest level is the host,
// where ranks share one.
plan::LeafOf leaves_of_ranks(const plan::LeafOf& of_hosts, const plan::Placement& placement);

base::Result<plan::Plan> make_rounds(const base::Options& options, const plan::LeafOf& leaves,
                                     std::uint32_t ranks, std::uint32_t self);

// Which ways there are over UDP among the hosts.
base::Result<tuning::OwnWaysWanted> own_ways_wanted(const base::Options& options,
                                                    const meeting::Members& members);

}  // namespace alm::ways
