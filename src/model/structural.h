// Our own ways, from how they are made: what the links need for each round, a start-up for each
// round, and the work of a host for each packet.
#pragma once

#include <cstdint>

#include "model/course.h"
#include "model/link_bound.h"

namespace alm::model {

// What a course asks of the idle network for blocks of so many bytes, in seconds.
struct Demand {
  double links_s = 0;     // the least time the links allow, phases one after the other
  double rounds_s = 0;    // the same, rounds one after the other: never less
  double fills_s = 0;     // what the last packet takes over the longest way once its host has sent
                          // it, once for each phase
  double turns_s = 0;     // the same, once for each round
  double distance_s = 0;  // of turns_s what no rate changes: the latencies of the links
  double steps_s = 0;  // links_s, with the steps of shuffles one after the other: above it where a
                       // schedule asks a link for more in one step than in another
  double pace_s = 0;   // what a small window allows: packets x the mean latency / window
  double unpaced_s = 0;  // of rounds_s what is sent to other sites across thin links without a pace
  double packets = 0;    // of the rank that sends most
  double rounds = 0;

  // How much more the steps take one after the other than together: 0 for a schedule that is even.
  double uneven() const { return links_s > 0 ? steps_s / links_s - 1 : 0; }
  // The links' work: at the pace of the window, and of steps that are uneven in part.
  // What is not paced gathers before a thin link, and is lost there in part.
  double work_s() const {
    const double links = rounds_s + 0.15 * unpaced_s;
    return (pace_s > links ? pace_s : links) * (1 + 0.4 * uneven());
  }
};
// `links` has the header of our packets.
Demand demand_of(const Course& course, const LinkBound& links, std::uint64_t bytes);

// A time, and the standard deviation of the logarithm of what it really takes over it.
struct Expected {
  double seconds = 0, sigma = 0;
};
// Where nothing was measured: work_s() + 1.2 turns_s, their distances once. What shuffles and
// phases take beyond what the links ask is the way of their last packets, and some that meet
// others. Rounds of few partners drift apart: they may overlap, and they may lose packets. So may
// shuffles whose steps are uneven, as those among leaves of different sizes. What is posted in no
// order collapses. Factors and deviations are those of 3,000 simulated exchanges on ten clusters
// and 100 random networks (allemande.study.random_networks, seeds from 1000 on).
Expected expected(const Demand& demand, const Course& course);

}  // namespace alm::model
