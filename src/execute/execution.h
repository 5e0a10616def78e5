// Carries out one rank's part of a plan: puts the blocks of each message together, hands the
// messages to what carries them, and takes apart what has come. It knows no algorithm; the carrier
// may be UDP, MPI messages or anything that implements Carrier.
//
// A message of one block leaves from where the block lies and lands where it belongs. Others are
// put together in the order of the plan's moves.
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

// The messages of all phases of one call, between the members of each phase. One call at a time.
class Carrier {
 public:
  // Something has happened in a phase: everything from `arrived` has come, or, without it, the
  // phase is complete.
  struct Event {
    std::size_t phase = 0;
    std::optional<base::PeerId> arrived;
  };

  virtual ~Carrier() = default;
  // The exchange and what it refers to stay until the phase is complete.
  virtual base::Status start(std::size_t phase, const transport::Exchange& exchange) = 0;
  // The message to this peer was withheld, and need not be any longer.
  virtual void make_ready(std::size_t phase, base::PeerId peer) = 0;
  // Of the phases started and not complete. An error ends all of them.
  virtual base::Result<Event> await() = 0;
};

class Execution {
 public:
  explicit Execution(plan::Plan plan) : course_(std::move(plan)), phases_(course_.phases()) {}

  const plan::Plan& plan() const { return course_.plan(); }

  // One exchange, to its end. Blocks lie by rank; this rank's own is left alone. `amounts` has the
  // sizes of `send` and `recv`, and, where the plan forwards blocks, those of all others.
  // `rounds` takes the place of those of a plan with one phase.
  base::Status run(Carrier& carrier, const transport::ConstBlocks& send,
                   const transport::MutableBlocks& recv, const Amounts& amounts,
                   const base::Rounds* rounds = nullptr);

 private:
  struct Buffers {
    base::ByteStore out_store, in_store;
    std::byte* out = nullptr;
    std::byte* in = nullptr;
    std::vector<std::uint64_t> out_at, in_at;     // by move: where its bytes lie in out or in
    std::vector<std::uint32_t> message_to;        // by peer: which message sent
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
  // The running exchange.
  transport::ConstBlocks send_;
  transport::MutableBlocks recv_;
  Amounts amounts_;
};

}  // namespace alm::execute
