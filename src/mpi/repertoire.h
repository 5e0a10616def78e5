// All the ways the exchanges of a communicator may go: the plans, and what the model says of them.
// Data that follow from the members and the options; equal on all ranks.
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
#include "model/profile.h"
#include "mpi/members.h"
#include "plan/combining.h"
#include "topology/cluster.h"
#include "tuning/candidates.h"
#include "tuning/forecast.h"

namespace alm::mpi {

class Repertoire {
 public:
  explicit Repertoire(const Members& members) : members_(members) {}

  // Once the members are known. Errors are the same on all ranks. `profile`: of the network; null:
  // none. It is used where it covers the members, each on a host of its own. Between sites the
  // rates and latencies of the cluster file do as well.
  base::Status plan(const base::Options& options, const model::Profile* profile = nullptr,
                    const topology::Cluster* cluster = nullptr);
  base::Status plan_messages(const base::Options& options);

  // What bringing up has found. `phases_bytes_max`: blocks of more go without phases,
  // but for those between sites.
  void take_udp(std::uint32_t packet_bytes, std::uint64_t phases_bytes_max);
  void take_messages() { carrier_ = tuning::Carrier::kMessages; }

  const plan::Plan& plan_of_hosts() const { return plan_; }         // of hosts, over UDP
  const plan::Plan& message_plan() const { return message_plan_; }  // of ranks
  // Of ranks, where the option names a way between sites; for blocks of one size if it forwards
  // any.
  const std::optional<plan::Plan>& site_message_plan() const { return site_message_plan_; }
  std::span<const plan::Plan> combining() const { return combining_; }  // of hosts
  std::size_t phases() const;  // of all plans in phases together

  // Packets have turned out to be others than those that the profile is about.
  void forget_forecast() { forecast_.reset(); }
  bool has_forecast() const { return forecast_ != nullptr; }
  bool rests_on_profile() const { return forecast_ != nullptr && !network_; }
  // By the profile.
  tuning::Foreseen foreseen(tuning::Way way, std::uint64_t bytes) const;

  // The model's choice for blocks of `bytes`, of ours: by the profile where it knows enough.
  tuning::Way model_way(std::uint64_t bytes) const;
  std::vector<tuning::Way> candidates(std::uint64_t bytes) const;
  // Of blocks of any size, where the fullest rank carries `load`.
  std::vector<tuning::Way> candidates_for_blocks(std::uint64_t load) const;
  // The model's choice for those: ours.
  tuning::Way blocks_way() const;
  tuning::Kin kin_of(tuning::Way way) const { return tuning::kin_of(way, carrier_); }
  bool goes_over_udp(tuning::Way way) const { return kin_of(way) == tuning::Kin::kUdp; }
  // The model's figure for a rank; 0: it has none.
  std::uint64_t packets_of(tuning::Way way, std::uint64_t bytes) const;

  // "udp grid:8x4", "mpi pairwise", "library": the same in every version.
  std::string key_of(tuning::Way way) const;
  // For people: "grid 8 x 4 over UDP".
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

  const Members& members_;
  tuning::Carrier carrier_ = tuning::Carrier::kMessages;
  bool always_combines_ = false;  // the option says so
  bool fixes_leaders_ = false;    // the same
  // Of plans that know sites. Among combining_ the direct one lies at site_plans_, and behind it
  // that which smaller blocks take.
  std::optional<plan::Request> site_request_;
  std::size_t site_plans_ = 0;
  bool names_site_way_ = false;          // the option says which
  std::uint64_t site_combined_max_ = 0;  // bytes between two hosts
  plan::Plan plan_, message_plan_;
  std::optional<plan::Plan> site_message_plan_;
  std::vector<plan::Plan> combining_;  // where all hosts have as many ranks
  std::uint32_t packet_bytes_ = 0;     // of blocks, over UDP
  std::uint64_t phases_bytes_max_ = 0;
  std::optional<model::Profile> network_;  // without a measurement, which forecast_ rests on
  std::unique_ptr<tuning::Forecast> forecast_;
  // With a forecast: its model_way of some sizes. Calls of several threads ask.
  mutable std::mutex mutex_;
  mutable std::map<std::uint64_t, tuning::Way> model_ways_;
};

}  // namespace alm::mpi
