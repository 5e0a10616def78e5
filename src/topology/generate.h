// Networks that are generated from a name, in one grammar for every command.
//
//   [lossless-]fat-tree:HOSTS          three levels of switches that carry all hosts at once
//   [lossless-]leaf-spine:HxLxS        H hosts on each of L leaves, a link from each to S spines
//   [lossless-]torus:AxB[x..]          a switch per point, linked to its neighbours all around
//   [lossless-]dragonfly:PxAxH         A routers a group, each with P hosts and H links to others
//   [lossless-]shuffle-exchange:HOSTS  stages of 2x2 switches, one way (001 Figure 3)
//   ib-144                             a lossless switch of 144 ports, of 24 crossbars (004)
//   myrinet:BISECTION                  16 hosts, bisection 1, 2, 4, 5, 6 or 9 (001 Figure 10)
//   myrinet:doubled, myrinet:18        the two designs of 001 Figure 2
//
// The first five take options behind a comma: rate_mbit_s, latency_us, queue_packets, and for a
// torus hosts, per switch. `leaf-spine:4x4x4,rate_mbit_s=100,queue_packets=45`.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "topology/cluster.h"

namespace alm::topology {

// Whether the name begins with a known kind of network, whatever follows.
bool is_generated(std::string_view name);
// The grammar in one line, for messages.
std::string_view generated_forms();
// Errors are kBadInput and say what was expected.
base::Result<Cluster> generate(std::string_view name);

// Leaf and spine crossbars with a link from every leaf to every spine, as build_ib_144() has them.
Cluster build_two_level(std::uint32_t leaves, std::uint32_t spines, std::uint32_t hosts_per_leaf);

// One builder per kind; precondition: sizes of 1 and more, as generate() checks them.
Cluster build_leaf_spine(std::uint32_t hosts_per_leaf, std::uint32_t leaves, std::uint32_t spines,
                         const Medium& medium);
// Two points along a dimension are joined by one link, three and more by a ring.
Cluster build_torus(std::span<const std::uint32_t> sides, std::uint32_t hosts_per_switch,
                    const Medium& medium);
// Every two routers of a group are linked, and so are every two of the A x H + 1 groups (Kim,
// Dally, Scott and Abts, ISCA 2008).
Cluster build_dragonfly(std::uint32_t hosts_per_router, std::uint32_t routers,
                        std::uint32_t global_links, const Medium& medium);
// 2^stages hosts. Switch i of a stage leads to switches 2i and 2i + 1, modulo the stage's number of
// switches, of the next. A host sends into the first stage and receives from the last; both links
// meet at a switch of its own, `port`, because a host has one link.
Cluster build_shuffle_exchange(std::uint32_t stages, const Medium& medium);
// `design`: "1", "2", "4", "5", "6", "9", "doubled" or "18". Has the price list of 001 Table 1.
base::Result<Cluster> build_myrinet(std::string_view design);

}  // namespace alm::topology
