#include "execute/configuration.h"

namespace alm::execute {

void configure(transport::Config& config, const plan::Tuning* tuning, const Wishes& wishes) {
  if (tuning != nullptr) {
    config.window_packets = tuning->window_packets;
    config.burst_packets = tuning->burst_packets;
    config.grain_packets = tuning->grain_packets;
    config.packet_time = static_cast<base::Nanos>(tuning->packet_time_us * base::kMicrosecond);
    config.knows_rate = true;
  }
  if (wishes.grain_packets != 0) config.grain_packets = wishes.grain_packets;
  if (wishes.window_packets == 0) return;
  // A window that was asked for holds for small exchanges, too.
  config.window_packets = wishes.window_packets;
  config.burst_packets = 0;
}

}  // namespace alm::execute
