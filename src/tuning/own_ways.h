// The ways of ours over UDP among the hosts of an exchange, and which of them is taken first,
// before any trial. The library, predictions and simulations all ask this. Pure: equal on all
// hosts, but for whose part in the plans is made.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "model/exchange_shape.h"
#include "model/profile.h"
#include "plan/combining.h"
#include "plan/plan.h"
#include "plan/tune.h"
#include "topology/cluster.h"
#include "tuning/candidates.h"
#include "tuning/forecast.h"

namespace alm::tuning {

struct OwnWaysWanted {
  std::uint32_t hosts = 0, self = 0;
  plan::LeafOf leaves = {};               // by host
  std::vector<std::uint32_t> sites = {};  // [host]; empty: no way knows sites
  plan::Algorithm rounds = plan::Algorithm::kSyncShuffle;
  plan::Permutation permutation = plan::Permutation::kBalanced;
  std::uint32_t omega = 0;
  bool combines = true;          // ways that combine blocks are among them
  bool always_combines = false;  // and are taken wherever they can be
  // With sites: the only way that is taken between them. Nothing: that which should be fastest.
  std::optional<plan::Algorithm> between_sites = {};
};

class OwnWays {
 public:
  // kBadInput: as plan::make_plan.
  static base::Result<OwnWays> make(OwnWaysWanted wanted);

  const plan::Plan& rounds() const { return rounds_; }
  // Those in phases: first those that combine blocks anywhere, then those that know sites, the one
  // for large blocks before the one for small ones.
  std::span<const plan::Plan> phased() const { return phased_; }
  // How many phases phased() may have, whatever fits the packets.
  std::size_t phases_max() const;

  // The packets are known, and hold so many bytes of blocks: keeps the ways that may be taken with
  // them. May be called again. `keep_all`: all that combine, for a forecast that chooses.
  void fit(std::uint32_t packet_bytes, bool keep_all = false);
  std::uint32_t packet_bytes() const { return packet_bytes_; }

  // Predictions from now on: by a profile that covers `names`, which must outlive this, or by rates
  // and latencies of a cluster alone. `tuning`: of these hosts; null: not known.
  void foresee(const model::Profile& profile, std::span<const std::string> names,
               const plan::Tuning* tuning);
  void foresee(const topology::Cluster& cluster, std::span<const base::HostId> hosts,
               const plan::Tuning* tuning);
  void forget_forecast() { forecast_.reset(); }
  bool has_forecast() const { return forecast_ != nullptr; }
  bool rests_on_profile() const { return forecast_ != nullptr && !network_; }
  // By the key of any way. `bytes`: between two hosts, as below.
  Foreseen foreseen(std::string_view key, std::uint64_t bytes) const;

  // The way taken first for blocks of `bytes`: with the fewest packets, or faster than that by the
  // forecast. `rounds`: what carries rounds. `in_phases`: no bound keeps these blocks from phases,
  // but between sites they go in phases in any case, piece by piece.
  Way first(std::uint64_t bytes, bool in_phases = true, Way rounds = {}) const;

  bool know_sites() const { return !wanted_.sites.empty(); }
  // Between sites: that which takes blocks of any size, if there is one.
  std::optional<Way> any_size_between_sites() const;
  // "udp grid:8x4", of kRounds and kPhased.
  std::string key_of(Way way) const;

 private:
  OwnWays() = default;
  base::Status plan_sites();
  bool is_multi_site() const;
  Way by_packets(std::uint64_t bytes, bool in_phases, Way rounds) const;

  OwnWaysWanted wanted_;
  plan::Plan rounds_;
  std::vector<plan::Plan> phased_;
  std::vector<plan::Plan> of_sites_;         // at the end of phased_
  std::uint32_t packet_bytes_ = 0;           // 0: not known
  std::uint64_t site_combined_max_ = 0;      // bytes between two hosts that count as small
  std::unique_ptr<model::Profile> network_;  // without measurements, for forecast_
  std::unique_ptr<Forecast> forecast_;
};

// [host] its site, numbered in the order of their first hosts; empty: fewer than two.
std::vector<std::uint32_t> sites_of(const topology::Cluster& cluster,
                                    std::span<const base::HostId> hosts);

// The ways of a job without options among these hosts of a cluster, one rank on each, with packets
// as the cluster's MTU gives them.
base::Result<OwnWays> usual_ways(const topology::Cluster& cluster,
                                 std::span<const base::HostId> hosts);

// A way of ours that an option names, or that the library chooses.
struct NamedWay {
  std::string algorithm, key;  // "grid:8x4", "udp grid:8x4"
  model::ExchangeShape shape;
  // The block sizes for which `algorithm` means this way.
  std::uint64_t bytes_least = 0, bytes_most = UINT64_MAX;

  bool takes(std::uint64_t bytes) const { return bytes >= bytes_least && bytes <= bytes_most; }
};

// All of them among these hosts.
base::Result<std::vector<NamedWay>> named_ways(const topology::Cluster& cluster,
                                               std::span<const base::HostId> hosts);

}  // namespace alm::tuning
