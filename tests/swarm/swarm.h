// A swarm: some ranks, some exchanges one after the other, a seeded network between them. Every
// byte received is checked; virtual time is bounded, so a stall is a failure and not a hang.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "event_loop.h"
#include "transport/channel.h"

namespace alm::swarm {

enum class Rounds { kSync, kPairwise, kGroup, kDirect };

struct Scenario {
  PeerId ranks = 4;
  std::uint32_t exchanges = 3;
  transport::Config config;
  Faults faults;
  std::uint32_t port_queue = 0;
  Rounds rounds = Rounds::kSync;
  // bytes[exchange][from * ranks + to]
  std::vector<std::vector<std::uint64_t>> bytes;
  // [exchange] what steps are made for (plan/uneven.h), not always what is sent; empty: no steps
  std::vector<std::vector<std::uint64_t>> planned;
  // think[exchange][rank]: computing before it enters the exchange
  std::vector<std::vector<base::Nanos>> think;
  // withheld[exchange][from * ranks + to]: how long after its rank has entered the block is there.
  // Empty: all are there at once.
  std::vector<std::vector<base::Nanos>> withheld;
  std::uint64_t seed = 0;
  base::Nanos time_max = 600 * base::kSecond;
};

Scenario random_scenario(std::uint64_t seed);
// The same, and blocks that are withheld at random.
Scenario random_withholding(std::uint64_t seed);
// The same over several paths, which differ in delay and one of which may carry nothing for a while
// or for good.
Scenario random_paths(std::uint64_t seed);
// Far peers, whose packets leave at a pace, with parities where packets get lost.
Scenario random_far(std::uint64_t seed);
std::string describe(const Scenario& scenario);

// Through Channel: real bytes, encoded, sealed, checked.
Outcome run(const Scenario& scenario);
// Through Engine alone: header fields only, as a simulator does. Faults.corrupt must be 0.
Outcome run_without_bytes(const Scenario& scenario);

}  // namespace alm::swarm
