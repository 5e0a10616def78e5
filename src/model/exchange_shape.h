// What an exchange puts on the network, as the models see it: phases of rounds of messages between
// ranks, counted in blocks. plan::shape_of derives it from a plan.
#pragma once

#include <cstdint>
#include <vector>

namespace alm::model {

struct Message {
  std::uint32_t from = 0, to = 0;  // ranks
  double blocks = 0;               // whole ones, or parts
};

struct Round {
  std::vector<Message> messages;
};

struct Phase {
  // One round in which every rank sends every other one block; `rounds` is empty then.
  bool complete = false;
  std::vector<Round> rounds = {};
  // For a complete phase whose partners follow a schedule: the messages of each step. Empty: not
  // known.
  std::vector<Round> steps = {};
  bool interleaved = true;  // packets to the partners of a round alternate
  bool alongside = false;   // runs at the same time as the phase before it
  bool windowed = true;     // the window bounds it; else links alone are the limit
  // Between sites: a rank spreads its packets over `paced` times what the links need for a complete
  // exchange. 0: as fast as links and window allow.
  double paced = 0;

  std::size_t round_count() const { return complete ? 1 : rounds.size(); }
};

struct ExchangeShape {
  std::uint32_t ranks = 0;
  std::vector<Phase> phases;
  bool coordinated = true;                  // false: everything is posted at once, in no order
  bool between_sites = false;               // thin links join some ranks to others far away
  std::uint32_t window_packets = 0;         // a rank may have so many outstanding; 0: any number
  std::uint32_t single_window_packets = 0;  // where each message is one packet; 0: the same
  std::uint32_t burst_packets = 0;          // a phase of no more packets has no window

  std::size_t round_count() const {
    std::size_t count = 0;
    for (const Phase& phase : phases) count += phase.round_count();
    return count;
  }
};

}  // namespace alm::model
