// What the transport is told of a network: window, train length and the time of a packet.
#pragma once

#include <cstdint>

#include "plan/far.h"
#include "plan/tune.h"
#include "transport/config.h"

namespace alm::execute {

// What somebody has asked for instead; 0: nothing.
struct Wishes {
  std::uint32_t window_packets = 0;
  std::uint32_t grain_packets = 0;
};

// Fills in `config`, which otherwise stays as it is. `tuning` is null where no network is known.
void configure(transport::Config& config, const plan::Tuning* tuning, const Wishes& wishes);

// A phase within a site. `tuning` as above, of the phase.
void configure_near(transport::Config& config, const plan::Phase& phase, const plan::Tuning* tuning,
                    const Wishes& wishes);
// The same for a phase between sites. What was asked for is for those within a site.
void configure_far(transport::Config& config, const plan::FarTuning& tuning);
// Where no cluster file tells of the network. `round_trip`: as measured; 0: it was not.
void configure_far(transport::Config& config, base::Nanos round_trip = 0);

}  // namespace alm::execute
