// Packets towards a port, and the window from which packets are lost there (000 Eq 3 and 4).
#pragma once

#include <cstdint>

namespace alm::model {

// Eq 3: packets per step towards an uplink of a leaf with d1 of p hosts, (p-d1) d1 / (p-1). One
// switch gives 0 in the paper; our rule there: 1, the host port.
double packets_per_step(std::uint32_t ranks, std::uint32_t leaf_hosts);
// Eq 4 as its worked figures have it: floor(B_L / nu), at least 1. A host that has more outstanding
// may lose packets. `acknowledged`: every packet by one of its own, which doubles nu.
std::uint32_t loss_onset_window(double buffer_packets, double nu, bool acknowledged = false);
// The window that keeps a host busy: ceil(L / g). A smaller one costs bandwidth.
std::uint32_t least_window(double latency_s, double gap_s);

}  // namespace alm::model
