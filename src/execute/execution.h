// Carries out one rank's part of a plan: puts the blocks of each message together, passes the
// messages to a carrier, and takes apart those that come. It knows no algorithm; the carrier may be
// UDP, MPI messages or anything else that implements Carrier.
//
// A message of one block is sent from the block's place and received into its place. Other messages
// are put together in the order of the plan's moves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/byte_store.h"
#include "base/result.h"
#include "execute/course.h"
#include "transport/channel.h"

namespace alm::execute {

// Brings the messages of all phases of one call to their receivers. One call at a time.
class Carrier {
 public:
  // An event of a phase: the message from `arrived` has come; without `arrived`, the phase is
  // complete.
  struct Event {
    std::size_t phase = 0;
    std::optional<base::PeerId> arrived;
  };

  virtual ~Carrier() = default;
  // The exchange and what it refers to must live until the phase is complete.
  virtual base::Status start(std::size_t phase, const transport::Exchange& exchange) = 0;
  // The message to this peer, withheld at the start, may leave now.
  virtual void make_ready(std::size_t phase, base::PeerId peer) = 0;
  // Waits for an event of the phases that were started and are not complete. An error ends them
  // all.
  virtual base::Result<Event> await() = 0;
};

class Execution {
 public:
  explicit Execution(plan::Plan plan) : course_(std::move(plan)), phases_(course_.phases()) {}

  const plan::Plan& plan() const { return course_.plan(); }

  // Runs one exchange to its end. Blocks lie by rank; this rank's own is left alone. `amounts` has
  // the sizes of `send` and `recv` and, where the plan forwards blocks, those of all others.
  // `rounds` replaces the rounds of a plan with one phase.
  base::Status run(Carrier& carrier, const transport::ConstBlocks& send,
                   const transport::MutableBlocks& recv, const Amounts& amounts,
                   const base::Rounds* rounds = nullptr);

 private:
  struct Buffers {
    base::ByteStore out_store, in_store;
    std::byte* out = nullptr;
    std::byte* in = nullptr;
    std::vector<std::uint64_t> out_at, in_at;     // by move: where its bytes lie in out or in
    std::vector<std::uint32_t> message_to;        // by peer: the message sent to it
    std::vector<std::uint64_t> send_at, recv_at;  // by peer, as transport::Blocks
    transport::Exchange exchange;
  };

  bool goes_straight(std::size_t phase) const;
  const transport::Exchange& prepare(std::size_t phase, const base::Rounds* rounds);
  void lay_out(std::size_t phase);
  void address(std::size_t phase);
  void put_together(std::size_t phase, std::size_t message);
  void take_apart(std::size_t phase);
  const std::byte* source(std::size_t phase, std::size_t move) const;

  Course course_;
  std::vector<Buffers> phases_;
  std::vector<Course::Ready> ready_;
  // The arguments of the running exchange.
  transport::ConstBlocks send_;
  transport::MutableBlocks recv_;
  Amounts amounts_;
};

}  // namespace alm::execute
