// All the ways that exchanges of a communicator may take: the plans, and the model's predictions
// for them. It follows from the members and the options, and is equal on all ranks.
#pragma once

#include <cstdint>
#include <map>
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
#include "plan/plan.h"
#include "topology/cluster.h"
#include "tuning/candidates.h"
#include "tuning/own_ways.h"

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

  // The route is known to carry packets that hold so many bytes of blocks: keeps the plans that may
  // be taken with them. Before that there are plans for any packets.
  void fit(std::uint32_t packet_bytes) { own_->fit(packet_bytes, foresees_by_profile_); }
  // Bring-up has decided on UDP, or on MPI messages. `phases_bytes_max`: larger blocks go without
  // phases, except between sites. Precondition: fit() for UDP.
  void take_udp(std::uint64_t phases_bytes_max);
  void take_messages() { transport_ = base::Transport::kMpi; }
  // What the MPI library may be told to take, on all ranks: candidates from now on.
  void take_library(tuning::AlgorithmSet algorithms) { library_ = algorithms; }

  const plan::Plan& plan_of_hosts() const { return own_->rounds(); }  // over UDP
  const plan::Plan& message_plan() const { return message_plan_; }    // among ranks
  // Among ranks, if the option names an algorithm for sites. A plan that forwards blocks serves
  // blocks of one size alone.
  const std::optional<plan::Plan>& site_message_plan() const { return site_message_plan_; }
  std::span<const plan::Plan> combining() const { return own_->phased(); }  // among hosts
  std::size_t phases() const;  // of all combining plans together
  // The most that these may be, whatever fit() will tell.
  std::size_t phases_max() const { return own_->phases_max(); }

  // The packets have another size than those that the profile was measured with.
  void forget_forecast() { own_->forget_forecast(); }
  bool has_forecast() const { return own_ && own_->has_forecast(); }
  bool rests_on_profile() const { return own_ && own_->rests_on_profile(); }
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

  // "udp grid:8x4", "mpi pairwise", "library", "library:bruck". Keys are the same in every version.
  std::string key_of(tuning::Way way) const;
  // "grid 8 x 4 over UDP", for people.
  std::string name_of(tuning::Way way) const;

 private:
  base::Status plan_messages_between_sites(const base::Options& options);
  bool has_phases(std::uint64_t bytes) const;
  tuning::Way find_model_way(std::uint64_t bytes) const;
  tuning::Way find_message_way(std::uint64_t bytes) const;
  // What carries rounds between hosts that exchange so many bytes.
  tuning::Way rounds_way(std::uint64_t host_bytes) const;
  const plan::Plan& plan_in_use() const;
  tuning::Sharing sharing(std::uint64_t host_bytes) const;

  const meeting::Members& members_;
  base::Transport transport_ = base::Transport::kMpi;
  bool fixes_leaders_ = false;  // by the option
  bool foresees_by_profile_ = false;
  std::optional<tuning::OwnWays> own_;  // set by plan()
  plan::Plan message_plan_;
  bool orders_messages_ = false;  // over messages, the order of ours follows from their size
  std::optional<plan::Plan> site_message_plan_;
  tuning::AlgorithmSet library_;
  std::uint64_t phases_bytes_max_ = 0;
  // With a forecast: model_way() of recent sizes. Several threads may call it.
  mutable std::mutex mutex_;
  mutable std::map<std::uint64_t, tuning::Way> model_ways_;
};

}  // namespace alm::ways
