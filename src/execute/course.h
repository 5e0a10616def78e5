// The course of one rank through a plan: which phases may begin, and which messages may leave
// because their blocks have come. No bytes move here, so that the simulator runs the same course as
// a process does (execution.h adds the bytes).
//
//   begin        one exchange begins; the sizes of its blocks
//   next_start   a phase that is to begin now. Phases begin in order, each as soon as one of its
//                messages can leave; at once if the rank only receives or its peers are far.
//                Messages that cannot leave are withheld
//   arrived      a message has come: which withheld ones may leave now
//   completed    everything of a phase has come and has been sent
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plan/plan.h"

namespace alm::execute {

// The sizes of the blocks of an exchange, as far as one rank has to know them.
struct Amounts {
  std::uint64_t each = 0;  // bytes of every block, unless one of the following is given
  // [rank] the block of o for d has weights[o] * weights[d] * each bytes: o and d are hosts with
  // several ranks.
  std::span<const std::uint64_t> weights = {};
  // [rank] bytes that this rank sends and receives. Enough where it forwards nothing.
  std::span<const std::uint64_t> sends = {}, receives = {};
  std::span<const std::uint64_t> all = {};  // [origin * ranks + destination]

  bool uniform() const { return weights.empty() && sends.empty() && all.empty(); }
  std::uint64_t of(const plan::Plan& plan, base::Rank origin, base::Rank destination) const;
};

// How many bytes of the block travel in the move.
std::uint64_t bytes_of(const plan::Plan& plan, const Amounts& amounts, const plan::Move& move);

class Course {
 public:
  // Precondition: plan::prove finds nothing wrong with the plans of all ranks.
  explicit Course(plan::Plan plan);

  const plan::Plan& plan() const { return plan_; }
  std::size_t phases() const { return states_.size(); }
  // A rank without partners in a phase takes no part in it.
  bool takes_part(std::size_t phase) const;

  void begin(const Amounts& amounts);
  std::optional<std::size_t> next_start();

  // For a phase that has begun: the bytes of every message; nothing: messages differ.
  std::optional<std::uint64_t> uniform_bytes(std::size_t phase) const;
  // Bytes by peer. Empty where every message is the block for a rank, and all blocks have one size.
  std::span<const std::uint64_t> send_bytes(std::size_t phase) const;
  std::span<const std::uint64_t> receive_bytes(std::size_t phase) const;
  // [peer] not 0: the message to the peer must wait. Empty: none must.
  std::span<const std::uint8_t> withheld(std::size_t phase) const;
  // Whether arrived() must be called for this phase's messages.
  bool feeds_later_phases(std::size_t phase) const { return states_[phase].feeds_any; }

  // A message that may leave now, in a phase that has begun.
  struct Ready {
    std::size_t phase = 0;
    base::PeerId peer = 0;
  };
  // The message from this peer has come. Appends the messages that may leave because of it.
  void arrived(std::size_t phase, base::PeerId peer, std::vector<Ready>& ready);
  void completed(std::size_t phase);
  bool done() const { return left_ == 0; }

  std::size_t bytes() const;  // of memory, roughly

  // Where the bytes of a move come from: this rank's own block, or a message received earlier.
  struct Source {
    static constexpr std::uint32_t kSelf = ~std::uint32_t{0};
    std::uint32_t phase = kSelf;
    std::uint32_t move = 0;  // in plan::Phase::in
  };
  Source source(std::size_t phase, std::size_t out_move) const {
    return states_[phase].sources[out_move];
  }

 private:
  struct Message {
    std::uint32_t phase = 0, index = 0;
  };
  struct PhaseState {
    // Follows from the plan.
    std::uint32_t peers = 0;
    std::vector<Source> sources;           // by out move; empty: all are this rank's own blocks
    std::vector<std::uint32_t> waits_for;  // by message sent: how many messages of earlier phases
    std::vector<std::vector<Message>> feeds;  // by message received: messages that wait for it
    std::vector<std::uint32_t> from;          // by peer: the message received from it
    bool feeds_any = false;
    std::uint32_t equal_moves = 0;  // moves in every message; 0: not equal, or parts of blocks
    // Changes in the running exchange.
    bool started = false, complete = false;
    std::vector<std::uint32_t> waiting;                    // by message sent
    std::uint32_t ready = 0;                               // messages that may leave
    std::vector<std::uint64_t> send_bytes, receive_bytes;  // by peer
    std::vector<std::uint8_t> withheld;                    // by peer; not 0: it waits
    std::optional<std::uint64_t> uniform;
  };

  void resolve();
  void measure(PhaseState& state, const plan::Phase& phase, const Amounts& amounts);
  void set_free(Message from, std::vector<Ready>* ready);

  plan::Plan plan_;
  std::vector<PhaseState> states_;  // by phase
  std::size_t left_ = 0;            // phases not complete
};

}  // namespace alm::execute
