// The predictions of a profile for the ways of one communicator with one rank on each host. Pure:
// the same on all ranks that have the same profile.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/exchange_shape.h"
#include "model/predictor.h"
#include "model/profile.h"
#include "plan/plan.h"
#include "plan/tune.h"

namespace alm::tuning {

// The predicted time of a call; nine in ten lie between low and high. All 0: not known.
struct Foreseen {
  base::Nanos time = 0, low = 0, high = 0;
  bool measured = true;  // measured or fitted; false: derived from the way's structure

  bool known() const { return time > 0; }
  // Derived times count links alone, so they are too low beside measured ones.
  bool comparable(const Foreseen& other) const { return known() && measured == other.measured; }
  // Whether either may be the faster one.
  bool overlaps(const Foreseen& other) const { return low <= other.high && other.low <= high; }
};

class Forecast {
 public:
  // Whether the profile has all these hosts.
  static bool covers(const model::Profile& profile, std::span<const std::string> hosts);

  // `hosts` and `sites` lie by rank; `sites` may be empty. Precondition: covers(). The profile must
  // outlive this.
  Forecast(const model::Profile& profile, std::span<const std::string> hosts,
           std::span<const std::uint32_t> sites = {});

  // Adds a plan of ours over UDP for these hosts. Times that were not measured are derived from its
  // structure. If none of its times was measured, that is done for blocks from 8 KiB on alone,
  // where links count for more than hosts; between sites, which are far, for blocks of all sizes.
  // `tuning` null: the window is not known.
  void add(const plan::Plan& plan, const plan::LeafOf& leaves,
           const plan::Tuning* tuning = nullptr);

  // The prediction for a way, by its key in decision files: "udp grid:8x4", "mpi pairwise",
  // "library", "library:bruck".
  Foreseen of(std::string_view key, std::uint64_t bytes) const;

 private:
  std::string name_of(std::string_view key) const;

  const model::Profile& profile_;
  model::Predictor predictor_;
  std::vector<std::uint32_t> sites_;
  std::map<std::string, model::ExchangeShape, std::less<>> shapes_;  // by key
};

// "udp grid:8x4@balanced" -> "udp grid:8x4": how partners are permuted makes no other way.
std::string_view family_of(std::string_view key);

// What a plan of ours puts on the network, of all hosts. `tuning` null: the window is not known.
// `combined`: multi-site with small blocks.
base::Result<model::ExchangeShape> shape_of(const plan::Plan& plan, const plan::LeafOf& leaves,
                                            std::span<const std::uint32_t> sites,
                                            const plan::Tuning* tuning, bool combined = false);

// The names in `allemande bench` of candidates that take this way, in jobs with an MPI library of
// this name and version. The first is preferred.
std::vector<std::string> candidates_of(std::string_view key, std::string_view mpi);

}  // namespace alm::tuning
