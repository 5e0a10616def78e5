// Configures transport, sockets and plans from the options and the cluster file.
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

// Without a cluster file all hosts are taken to be on one switch of unknown speed. Then nu is 1
// (reference section 3), and the window fits the shallowest buffer measured in paper 000, with room
// for the acknowledgements.
constexpr std::uint32_t kDefaultWindowPackets = 32;

// Values of the option `algorithm` that name no single algorithm.
constexpr std::string_view kAutomatic = "auto";
constexpr std::string_view kCombine = "combine";

// Whether threads of ours carry out nonblocking calls. Several threads then call MPI at once.
bool wants_threads(const base::Options& options);

// Whether the option names an algorithm that knows sites, whose phases carry blocks of one size
// over UDP.
bool knows_sites(const base::Options& options);
// Whether algorithms that know sites are among the candidates, if it is known what the sites are.
bool may_take_sites(const base::Options& options);
// The request for the algorithm that the option names, or for multi-site if it names none. `sites`
// lies as `leaves` does, by host or by rank.
base::Result<plan::Request> site_request(const base::Options& options, const plan::LeafOf& leaves,
                                         std::span<const std::uint32_t> sites, std::uint32_t self);
// The plans for the request: one, or one for large and one for small blocks.
base::Result<std::vector<plan::Plan>> make_site_plans(const plan::Request& request);
// All candidates: multi-site for large blocks, multi-site for small blocks, which go as in local
// group, and coordinators.
base::Result<std::vector<plan::Plan>> all_site_plans(const plan::Request& request);

// Whether ways are tried and the fastest is kept. An algorithm that the option names is taken
// without a trial.
bool wants_trials(const base::Options& options);

// Leaders per host: what the option says, or as many as a host's link in the cluster file may need.
// `tuning` is null without a cluster file.
std::uint32_t leaders_wanted(const base::Options& options, const plan::Placement& placement,
                             const plan::Tuning* tuning);
// Whether the number of leaders is fixed, not tried.
bool fixes_leaders(const base::Options& options);

// The times of the options, scaled by time_scale.
base::Nanos hello_timeout(const base::Options& options);
base::Nanos peer_warning(const base::Options& options);
base::Nanos peer_timeout(const base::Options& options);

// kBadInput: options that contradict each other.
base::Status check_path_options(const base::Options& options);

// `tuning` is null without a cluster file. `receive_buffer_bytes`: as the sockets were granted.
transport::Config channel_config(const base::Options& options, const plan::Tuning* tuning,
                                 std::uint32_t datagram_bytes, std::uint32_t receive_buffer_bytes);
// `links`: so many links of each host, over which the sockets are spread.
io::EndpointOptions endpoint_options(const base::Options& options, const plan::Tuning* tuning,
                                     std::uint32_t links = 1);

// Position of each host in the hierarchy, for plan::Request; empty without a cluster file.
plan::LeafOf leaf_of(const topology::Cluster* cluster, std::span<const base::HostId> hosts);

// The same by rank, for exchanges of ranks: the lowest level is the host, where ranks share one.
plan::LeafOf leaves_of_ranks(const plan::LeafOf& of_hosts, const plan::Placement& placement);

// The combining plans; none if the options exclude them or there are few ranks.
std::vector<plan::Plan> make_phased(const base::Options& options, const plan::LeafOf& leaves,
                                    std::uint32_t ranks, std::uint32_t self,
                                    plan::Keep keep = plan::Keep::kUseful);

base::Result<plan::Plan> make_rounds(const base::Options& options, const plan::LeafOf& leaves,
                                     std::uint32_t ranks, std::uint32_t self);

}  // namespace alm::mpi
