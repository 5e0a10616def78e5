// The times of our own ways, derived from their structure: what the links need for each round, a
// start-up for each round, and the work of a host for each packet.
#pragma once

#include <cstdint>

#include "model/exchange_shape.h"
#include "model/link_bound.h"

namespace alm::model {

// What a shape asks of the idle network, in seconds.
struct Demand {
  double links_s = 0;     // the least time the links allow, phases one after the other
  double rounds_s = 0;    // the same with rounds one after the other: never less
  double turns_s = 0;     // for each round: the time of the last packet on the longest route after
                          // its host has sent it
  double distance_s = 0;  // the part of turns_s that no rate changes: latencies of links
  double steps_s = 0;     // links_s with the steps of shuffles one after the other: more where a
                          // schedule loads links unevenly
  double pace_s = 0;      // at the pace of the window: packets x mean latency / window
  double unpaced_s = 0;   // the part of rounds_s for messages across thin links without a pace
  double packets = 0;     // sent by the rank that sends most
  double rounds = 0;

  // By which part the steps take longer one after the other: 0 for an even schedule.
  double uneven() const { return links_s > 0 ? steps_s / links_s - 1 : 0; }
  // The time of the links: as long as the window asks for, and a part of the unevenness of steps.
  // Packets without a pace gather before a thin link, and some are lost there.
  double work_s() const {
    const double links = rounds_s + 0.15 * unpaced_s;
    return (pace_s > links ? pace_s : links) * (1 + 0.4 * uneven());
  }
};
// `links` counts the header of our packets.
Demand demand_of(const ExchangeShape& shape, const LinkBound& links, std::uint64_t bytes);

// An expected time, and the standard deviation of the logarithm of true over expected time.
struct Expected {
  double seconds = 0, sigma = 0;
};
// For ways that were not measured: work_s() + 1.2 turns_s, but the distances in them once. Beyond
// the time of the links, shuffles and phases take the time of their last packets, and of some that
// meet others. Rounds of few partners drift apart: they may overlap, and may lose packets. So may
// shuffles with uneven steps, as among leaves of different sizes. An exchange that is posted in no
// order collapses. Factors and deviations are those of 3,000 simulated exchanges on ten clusters
// and 100 random networks (allemande.study.random_networks, seeds from 1000 on).
Expected expected(const Demand& demand, const ExchangeShape& shape);

}  // namespace alm::model
