// Configures the transport for a network: window, train length and packet time.
#pragma once

#include <cstdint>

#include "plan/far.h"
#include "plan/tune.h"
#include "transport/config.h"

namespace alm::execute {

// Values that options set in place of the tuned ones; 0: not set.
struct Wishes {
  std::uint32_t window_packets = 0;
  std::uint32_t grain_packets = 0;
};

// Sets the fields of `config` that depend on the network. `tuning` is null where the network is not
// known.
void configure(transport::Config& config, const plan::Tuning* tuning, const Wishes& wishes);

// The same for a phase within a site, with the tuning of that phase.
void configure_near(transport::Config& config, const plan::Phase& phase, const plan::Tuning* tuning,
                    const Wishes& wishes);
// The same for a phase between sites. Wishes do not apply to it: they are for phases within a site.
void configure_far(transport::Config& config, const plan::FarTuning& tuning);
// The same without a cluster file. `round_trip`: as measured; 0: not measured.
void configure_far(transport::Config& config, base::Nanos round_trip = 0);

}  // namespace alm::execute
