// What a profile says of the ways between the ranks of one communicator, one on each host. Pure:
// the same on all ranks that have the same profile.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "model/predictor.h"
#include "model/profile.h"
#include "plan/plan.h"
#include "plan/tune.h"

namespace alm::tuning {

// What a call of a way is predicted to take; nine in ten lie between low and high. All 0: nothing
// is known.
struct Foreseen {
  base::Nanos time = 0, low = 0, high = 0;
  bool measured = true;  // or fitted to what was; else it follows from how the way is made

  bool known() const { return time > 0; }
  // What links need alone is less than what was measured.
  bool comparable(const Foreseen& other) const { return known() && measured == other.measured; }
  // Either may be the faster one.
  bool overlaps(const Foreseen& other) const { return low <= other.high && other.low <= high; }
};

class Forecast {
 public:
  // Whether the profile is one of these hosts.
  static bool covers(const model::Profile& profile, std::span<const std::string> hosts);

  // `hosts` by rank; covers() them. The profile is referred to. `sites` by rank; empty: none.
  Forecast(const model::Profile& profile, std::span<const std::string> hosts,
           std::span<const std::uint32_t> sites = {});

  // A plan of ours for these hosts, over UDP. What was not measured of it follows from how it is
  // made; where nothing was, only for blocks from 8 KiB on, where links count for more than hosts.
  // Between sites, which are far, for blocks of all sizes. `tuning` null: no window is known.
  void add(const plan::Plan& plan, const plan::LeafOf& leaves,
           const plan::Tuning* tuning = nullptr);

  // Of a way by its key in decision files: "udp grid:8x4", "mpi pairwise", "library".
  Foreseen of(std::string_view key, std::uint64_t bytes) const;

 private:
  std::string name_of(std::string_view key) const;

  const model::Profile& profile_;
  model::Predictor predictor_;
  std::vector<std::uint32_t> sites_;
  std::map<std::string, model::Course, std::less<>> courses_;  // by key
};

// What `allemande bench` calls candidates that take this way, in jobs with an MPI library of this
// name and version. The first is the one to prefer.
std::vector<std::string> candidates_of(std::string_view key, std::string_view mpi);

}  // namespace alm::tuning
