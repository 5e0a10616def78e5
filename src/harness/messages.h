// The ranks of a simulated exchange over messages, as an MPI library sends point-to-point messages
// on a fabric that loses nothing. They go out in the order of messages/turns.h.
//
// A message leaves as soon as it is posted: its receive is posted before, and the handshake of long
// ones is not modelled. A host's network card sends messages in the order of posting, or takes a
// packet of each in turn, as cards with a queue pair for each peer do. The last packet of a message
// is acknowledged by a packet of its own; then the send is complete, and the next may be posted.
// Lost packets are not sent again.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "harness/message_program.h"
#include "messages/turns.h"

namespace alm::harness {

class MessageRanks final : public MessageProgram {
 public:
  static base::Result<std::unique_ptr<Program>> make(const SimRequest& request);

  bool pull(std::uint32_t host, sim::Picos now, std::uint32_t index, sim::Packet& packet) override;
  void receive(std::uint32_t host, sim::Picos now, std::uint32_t index,
               const sim::Packet& packet) override;
  void fill(SimResult& result) const override;
  std::size_t bytes() const override;

 private:
  struct Message {
    base::PeerId to = 0;
    std::uint64_t bytes = 0;   // not yet on the link
    std::uint32_t number = 0;  // among those to this peer
  };
  struct Rank {
    messages::MessageTurns turns;
    std::deque<Message> posted;
    std::deque<base::PeerId> acks;         // to be sent
    std::uint32_t under_way = 0;           // messages not acknowledged
    std::vector<std::uint32_t> receives;   // [peer] index into rounds.recv
    std::vector<std::uint32_t> ahead;      // [peer] messages that came before this rank began
    std::vector<std::uint64_t> to_come;    // [peer] messages of the running exchange
    std::vector<std::uint32_t> posted_to;  // [peer] messages so far
  };
  enum class Part : std::uint8_t { kMiddle, kLast, kAck };
  struct Cargo {
    std::uint32_t from = 0, to = 0;
    Part part = Part::kMiddle;
  };

  MessageRanks() = default;
  std::uint64_t chunks(std::uint64_t bytes) const;  // messages of a block
  void enter(std::uint32_t rank);
  void take(std::uint32_t rank, base::PeerId from);
  void post(std::uint32_t rank);
  void proceed(std::uint32_t rank, sim::Picos now);

  MessageFlow flow_;
  std::vector<Rank> ranks_;
  std::vector<Cargo> cargo_;
  std::uint64_t data_packets_ = 0, acks_ = 0;
};

}  // namespace alm::harness
