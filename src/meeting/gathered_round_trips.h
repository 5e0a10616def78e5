// Round trips between hosts, measured by one rank of each and told to all ranks.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "job/safe_collectives.h"
#include "transport/io/round_trips.h"

namespace alm::meeting {

// Who measures, where, and how.
struct RoundTripSurvey {
  std::vector<std::uint32_t> leaders = {};  // [host] the rank that measures
  std::vector<io::Address> addresses = {};  // [host]
  std::uint32_t ranks = 0, self = 0;
  io::Address local = {};  // on leaders
  io::Echoes::Manner manner = {};
};

// Collective. Returns [from * hosts + to]; 0: not known. `asked_by(host)`: the hosts that one asks,
// kMost at most. Errors are equal on all ranks; a rank that cannot measure knows nothing.
template <std::size_t kMost, class AskedBy>
base::Result<std::vector<base::Nanos>> gather_round_trips(job::SafeCollectives& collectives,
                                                          const RoundTripSurvey& survey,
                                                          AskedBy asked_by) {
  using Answers = std::array<base::Nanos, kMost>;
  Answers own{};
  const auto place = std::find(survey.leaders.begin(), survey.leaders.end(), survey.self);
  if (place != survey.leaders.end()) {
    const auto host = static_cast<std::uint32_t>(place - survey.leaders.begin());
    std::vector<io::Address> to{survey.addresses[host]};
    for (const std::uint32_t other : asked_by(host)) to.push_back(survey.addresses[other]);
    const auto times = io::measure_round_trips(survey.local, to, 0, survey.manner);
    if (times) std::copy(times.value().begin() + 1, times.value().end(), own.begin());
  }
  std::vector<Answers> all(survey.ranks);
  if (auto gathered = collectives.gather(own, all); !gathered) return gathered.error();
  const std::size_t hosts = survey.leaders.size();
  std::vector<base::Nanos> table(hosts * hosts, 0);
  for (std::uint32_t host = 0; host < hosts; ++host) {
    const std::vector<std::uint32_t> asked = asked_by(host);
    const Answers& of = all[survey.leaders[host]];
    for (std::size_t i = 0; i < asked.size(); ++i) table[host * hosts + asked[i]] = of[i];
  }
  return table;
}

}  // namespace alm::meeting
