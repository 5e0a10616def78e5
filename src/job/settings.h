// What sockets and the transport are told, from the options and the cluster file.
#pragma once

#include <cstdint>
#include <optional>

#include "base/options.h"
#include "base/result.h"
#include "base/time.h"
#include "plan/tune.h"
#include "transport/channel.h"
#include "transport/io/endpoint.h"

namespace alm::job {

// Whether the program is to get MPI_THREAD_MULTIPLE, so that threads of ours carry out nonblocking
// calls. Several threads then call MPI at once.
bool wants_threads(const base::Options& options);
// Whether they do where it has it.
bool takes_threads(const base::Options& options);

// The times of the options, scaled by time_scale.
base::Nanos hello_timeout(const base::Options& options);
base::Nanos peer_warning(const base::Options& options);
base::Nanos peer_timeout(const base::Options& options);

// kBadInput: options that contradict each other.
base::Status check_path_options(const base::Options& options);

// How many paths the options ask for; nothing: as many as there are ways.
std::optional<std::uint32_t> paths_asked(const base::Options& options);
// How many paths there may be: what is asked for, or the most that there can be.
std::uint32_t paths_max(const base::Options& options);
// Whether the routes of packets are looked for at all (meeting/found_routes.h). Where hosts have
// several links, path numbers stand for links.
bool finds_routes(const base::Options& options, std::uint32_t links = 1);
// The rule for several paths. `planned`: the plan says which one each block takes.
paths::PathRule path_rule(const base::Options& options, bool planned);

// `tuning` is null without a cluster file. `receive_buffer_bytes`: as the sockets were granted.
// With one path: bring-up sets how many there are.
transport::Config channel_config(const base::Options& options, const plan::Tuning* tuning,
                                 std::uint32_t datagram_bytes, std::uint32_t receive_buffer_bytes);
// `links`: so many links of each host, over which the sockets are spread. If the options leave the
// number of paths open, there is one socket for each link: bring-up opens more where it needs them.
io::EndpointOptions endpoint_options(const base::Options& options, const plan::Tuning* tuning,
                                     std::uint32_t links = 1);

}  // namespace alm::job
