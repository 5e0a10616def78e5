// Configures the transport for a network: window, train length and packet time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "plan/far.h"
#include "plan/tune.h"
#include "topology/cluster.h"
#include "transport/config.h"

namespace alm::execute {

// The longest train where no cluster file says what queues hold; TCP's are up to 44.
constexpr std::uint32_t kUnknownTrainMax = 16;

// Values that options set in place of the tuned ones; 0: not set.
struct Wishes {
  std::uint32_t window_packets = 0;
  std::uint32_t grain_packets = 0;
};

// Sets the fields of `config` that depend on the network. `tuning` is null where the network is not
// known.
void configure(transport::Config& config, const plan::Tuning* tuning, const Wishes& wishes);

// Where no cluster file describes the network, the window is sought (clocks/yield.h), unless one
// was wished.
void configure_unknown(transport::Config& config, const Wishes& wishes);

// The same for a phase within a site, with the tuning of that phase.
void configure_near(transport::Config& config, const plan::Phase& phase, const plan::Tuning* tuning,
                    const Wishes& wishes);
// The same for a phase between sites. Wishes do not apply to it: they are for phases within a site.
void configure_far(transport::Config& config, const plan::FarTuning& tuning);
// The same without a cluster file. `round_trip`: as measured; 0: not measured.
void configure_far(transport::Config& config, base::Nanos round_trip = 0);

// Sets `limit_time`: how fast one of these hosts sends datagrams if no one else uses the links.
void set_limit_time(transport::Config& config, const topology::Cluster& cluster,
                    std::span<const base::HostId> hosts);

// Configures the phases of plans that know sites: those within a site and those between sites have
// windows and timers of their own. Other phases stay as they are.
class PhaseConfiguration {
 public:
  // Without a cluster file. `far_round_trip`: as measured; 0: not measured.
  explicit PhaseConfiguration(base::Nanos far_round_trip) : far_round_trip_(far_round_trip) {}
  // `hosts` and `sites` lie by rank. The cluster must outlive this.
  PhaseConfiguration(const topology::Cluster& cluster, std::vector<base::HostId> hosts,
                     std::span<const std::uint32_t> sites, const Wishes& wishes);

  // `load`: of the phase, if it is one between sites; nothing: that of equal blocks.
  void configure(transport::Config& config, const plan::Phase& phase,
                 std::optional<plan::FarLoad> load = std::nullopt) const;

 private:
  base::Nanos far_round_trip_ = 0;
  const topology::Cluster* cluster_ = nullptr;
  std::vector<base::HostId> hosts_;
  std::optional<plan::FarTuner> far_;
  Wishes wishes_;
};

}  // namespace alm::execute
