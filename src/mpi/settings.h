// What transport and sockets are told, from the options and the cluster file.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/options.h"
#include "base/result.h"
#include "plan/combining.h"
#include "plan/placement.h"
#include "plan/plan.h"
#include "plan/tune.h"
#include "topology/cluster.h"
#include "transport/channel.h"
#include "transport/io/endpoint.h"

namespace alm::mpi {

// Without a cluster file every host hangs on one switch of unknown speed. Then nu is 1 (reference
// section 3) and the window is what the shallowest buffer measured in paper 000 holds, with room
// for the acknowledgements.
constexpr std::uint32_t kDefaultWindowPackets = 32;

// Values of the option `algorithm` that are more than the name of one.
constexpr std::string_view kAutomatic = "auto";
constexpr std::string_view kCombine = "combine";

// Nonblocking calls are carried out by threads of ours; MPI is called by several at once then.
bool wants_threads(const base::Options& options);

// The algorithm knows sites: it carries blocks of one size over UDP in its phases.
bool knows_sites(const base::Options& options);
// Algorithms that know sites are among those to choose from, where somebody says what the sites
// are.
bool may_take_sites(const base::Options& options);
// What it is asked for, multi-site where it is to be chosen. `sites` lie as `leaves` do.
base::Result<plan::Request> site_request(const base::Options& options, const plan::LeafOf& leaves,
                                         std::span<const std::uint32_t> sites, std::uint32_t self);
// Its plans: one, or those for large and for small blocks.
base::Result<std::vector<plan::Plan>> make_site_plans(const plan::Request& request);
// All to choose from: multi-site for large blocks and for small ones, which go as local group sends
// them; coordinators.
base::Result<std::vector<plan::Plan>> all_site_plans(const plan::Request& request);

// Ways are tried and the fastest is kept. An algorithm that is named is taken without a trial.
bool wants_trials(const base::Options& options);

// Leaders of every host: what the option says, or what a host's link by the cluster file may ask
// for. `tuning` is null without one.
std::uint32_t leaders_wanted(const base::Options& options, const plan::Placement& placement,
                             const plan::Tuning* tuning);
// A number of leaders is kept to, not tried.
bool fixes_leaders(const base::Options& options);

// Times of the options, as the speed of the network asks for (time_scale).
base::Nanos hello_timeout(const base::Options& options);
base::Nanos peer_warning(const base::Options& options);
base::Nanos peer_timeout(const base::Options& options);

// Options that do not go together: kBadInput.
base::Status check_path_options(const base::Options& options);

// `tuning` is null without a cluster file. `receive_buffer_bytes`: as the sockets were granted.
transport::Config channel_config(const base::Options& options, const plan::Tuning* tuning,
                                 std::uint32_t datagram_bytes, std::uint32_t receive_buffer_bytes);
// `links`: of each host, that sockets are spread over.
io::EndpointOptions endpoint_options(const base::Options& options, const plan::Tuning* tuning,
                                     std::uint32_t links = 1);

// Position of each rank's host in the hierarchy, as plan::Request wants it; empty without a file.
plan::LeafOf leaf_of(const topology::Cluster* cluster, std::span<const base::HostId> hosts);

// The same by rank, for exchanges of ranks: the lowest level is the host, where ranks share one.
plan::LeafOf leaves_of_ranks(const plan::LeafOf& of_hosts, const plan::Placement& placement);

// None where the options exclude them or ranks are few.
std::vector<plan::Plan> make_phased(const base::Options& options, const plan::LeafOf& leaves,
                                    std::uint32_t ranks, std::uint32_t self,
                                    plan::Keep keep = plan::Keep::kUseful);

base::Result<plan::Plan> make_rounds(const base::Options& options, const plan::LeafOf& leaves,
                                     std::uint32_t ranks, std::uint32_t self);

}  // namespace alm::mpi
