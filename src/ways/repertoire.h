// All the ways that exchanges of a communicator may take: the plans, and the model's predictions
// for them. It follows from the members and the options, and is equal on all ranks.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/options.h"
#include "base/result.h"
#include "base/transport.h"
#include "meeting/members.h"
#include "model/profile.h"
#include "plan/combining.h"
#include "topology/cluster.h"
#include "tuning/candidates.h"
#include "tuning/forecast.h"

namespace alm::ways {

class Repertoire {
 public:
  explicit Repertoire(const meeting::Members& members) : members_(members) {}

  // Makes the plans, once the members are known. Errors are the same on all ranks. `profile` may be
  // null; it is used if it covers the members and each has a host of its own. Between sites the
  // rates and latencies of `cluster` take its place.
  base::Status plan(const base::Options& options, const model::Profile* profile = nullptr,
                    const topology::Cluster* cluster = nullptr);
  base::Status plan_messages(const base::Options& options);

  // Bring-up has decided on UDP, or on MPI messages. `phases_bytes_max`: larger blocks go without
  // phases, except between sites.
  void take_udp(std::uint32_t packet_bytes, std::uint64_t phases_bytes_max);
  void take_messages() { transport_ = base::Transport::kMpi; }

  const plan::Plan& plan_of_hosts() const { return plan_; }         // over UDP
  const plan::Plan& message_plan() const { return message_plan_; }  // among ranks
  // Among ranks, if the option names an algorithm for sites. A plan that forwards blocks serves
  // blocks of one size alone.
  const std::optional<plan::Plan>& site_message_plan() const { return site_message_plan_; }
  std::span<const plan::Plan> combining() const { return combining_; }  // among hosts
  std::size_t phases() const;  // of all combining plans together

  // The packets have another size than those that the profile was measured with.
  void forget_forecast() { forecast_.reset(); }
  bool has_forecast() const { return forecast_ != nullptr; }
  bool rests_on_profile() const { return forecast_ != nullptr && !network_; }
  // The prediction of the profile.
  tuning::Foreseen foreseen(tuning::Way way, std::uint64_t bytes) const;

  // The model's choice among our ways for blocks of `bytes`: by the profile where it knows enough.
  tuning::Way model_way(std::uint64_t bytes) const;
  std::vector<tuning::Way> candidates(std::uint64_t bytes) const;
  // The same for blocks of any size, where the fullest rank carries `load`.
  std::vector<tuning::Way> candidates_for_blocks(std::uint64_t load) const;
  // The model's choice among our ways for blocks of any size.
  tuning::Way blocks_way() const;
  base::Transport transport_of(tuning::Way way) const {
    return tuning::transport_of(way, transport_);
  }
  bool goes_over_udp(tuning::Way way) const { return transport_of(way) == base::Transport::kUdp; }
  // Packets that a rank sends, by the model; 0: not known.
  std::uint64_t packets_of(tuning::Way way, std::uint64_t bytes) const;

  // "udp grid:8x4", "mpi pairwise", "library". Keys are the same in every version.
  std::string key_of(tuning::Way way) const;
  // "grid 8 x 4 over UDP", for people.
  std::string name_of(tuning::Way way) const;

 private:
  base::Status plan_for_sites(const base::Options& options);
  base::Status plan_messages_between_sites(const base::Options& options);
  void foresee(const model::Profile& profile, const std::vector<std::string>& hosts);
  void foresee(const topology::Cluster& cluster);
  bool has_phases(std::uint64_t bytes) const;
  tuning::Way way_of_sites(std::uint64_t bytes) const;
  tuning::Way way_by_packets(std::uint64_t bytes) const;
  tuning::Way find_model_way(std::uint64_t bytes) const;
  std::optional<std::size_t> choose_combining(std::uint64_t bytes) const;
  const plan::Plan& plan_in_use() const;
  tuning::Sharing sharing(std::uint64_t host_bytes) const;

  const meeting::Members& members_;
  base::Transport transport_ = base::Transport::kMpi;
  bool always_combines_ = false;  // by the option
  bool fixes_leaders_ = false;    // by the option
  // The request for plans that know sites. These lie in combining_ from site_plans_ on: first the
  // one for large blocks, then the one for small blocks.
  std::optional<plan::Request> site_request_;
  std::size_t site_plans_ = 0;
  bool names_site_way_ = false;          // the option names the algorithm for sites
  std::uint64_t site_combined_max_ = 0;  // bytes between two hosts that count as small
  plan::Plan plan_, message_plan_;
  std::optional<plan::Plan> site_message_plan_;
  std::vector<plan::Plan> combining_;  // plans in phases, among hosts
  std::uint32_t packet_bytes_ = 0;     // of blocks in a packet, over UDP
  std::uint64_t phases_bytes_max_ = 0;
  std::optional<model::Profile> network_;  // a profile without measurements, for forecast_
  std::unique_ptr<tuning::Forecast> forecast_;
  // With a forecast: model_way() of recent sizes. Several threads may call it.
  mutable std::mutex mutex_;
  mutable std::map<std::uint64_t, tuning::Way> model_ways_;
};

}  // namespace alm::ways
