// The decision file that jobs keep by themselves, in the user's cache directory: where it is, and
// what has to be equal so that decisions in it hold for another job. Nothing about it is worth a
// warning: a job that cannot read or write it tries anew.
#pragma once

#include <span>
#include <string>

#include "base/options.h"
#include "job/agreement.h"
#include "job/network_links.h"

namespace alm::session {

// The value of the option `decisions` that means this file.
inline constexpr std::string_view kCachedDecisions = "auto";

// allemande/decisions.toml in $XDG_CACHE_HOME or ~/.cache; empty: there is neither.
std::string cache_file(const base::Environment& environment);
// Makes the directory of the file, and the one it is in, unless they are there.
void make_cache_directory(const std::string& file);

// Hash of the hosts, the ranks on each and what connects them, hexadecimal: subnets that all hosts
// have, and the rates and MTUs of rank 0's interfaces in these.
std::string network_hash(std::span<const job::JobRecord> records,
                         std::span<const job::NetworkLink> links_of_rank0);

}  // namespace alm::session
