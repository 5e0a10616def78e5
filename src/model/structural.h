// Our own ways, from how they are made: what the links need for each round, a start-up for each
// round, and the work of a host for each packet. The figures of the network come from the profile
// or its cluster; what the protocol does with them is the same on all networks.
#pragma once

#include <cstdint>

#include "model/course.h"
#include "model/link_bound.h"

namespace alm::model {

// What a host and the idle network add, in seconds.
struct HostCosts {
  double send = 0;     // O_s, per packet
  double receive = 0;  // O_r + U_r, per packet
  double gap = 0;      // g: least time between two packets at a host
  double latency = 0;  // L: one full frame, end to end, over the longest way
};

// What a course asks of the network for blocks of so many bytes, in seconds and packets.
struct Demand {
  double links_s = 0;   // least time the links allow, phases one after the other
  double rounds_s = 0;  // the same, rounds one after the other: never less
  double packets = 0;   // of the rank that sends most
  double rounds = 0;
};
Demand demand_of(const Course& course, const LinkBound& links, std::uint64_t bytes,
                 std::uint32_t packet_bytes);

// T = rounds x (L + O_s + O_r + U_r) + max(rounds_s, packets x max(g, O_s + O_r + U_r)).
double structural_s(const Demand& demand, const HostCosts& costs);

}  // namespace alm::model
