// Carries the blocks of exchanges as MPI messages. src/mpi/abi implements it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/result.h"
#include "base/rounds.h"
#include "messages/flow.h"
#include "messages/turns.h"
#include "transport/channel.h"

namespace alm::carrier {

// Runs rounds over MPI point-to-point messages, on a communicator of its own. Several exchanges may
// be under way at once, each on a strand of its own: the phases of one call.
class PointToPoint {
 public:
  static constexpr std::uint32_t kFew = messages::MessageTurns::kFew;

  struct Event {
    std::size_t index = 0;                  // of the strand in what was given to await()
    std::optional<base::PeerId> arrived{};  // nothing: the strand's exchange is complete
  };

  virtual ~PointToPoint() = default;

  // Begins an exchange on a strand that runs none; `flow` bounds how many messages are outstanding
  // at once. Its rounds and the memory of its blocks must live until await() has returned its
  // completion, or until ended() after give_up(). Every rank starts the exchanges of a strand in
  // the same order.
  virtual base::Status start(std::size_t strand, const transport::Exchange& exchange,
                             const messages::MessageFlow& flow) = 0;
  // The block for this peer, withheld at the start, is in the send buffer now.
  virtual void make_ready(std::size_t strand, base::PeerId peer) = 0;
  // Waits for the next event of these strands, of which at least one runs an exchange; meanwhile
  // all strands proceed. All arrivals of an exchange come before its completion, if it reports
  // them. After an error only give_up() is left.
  virtual base::Result<Event> await(std::span<const std::size_t> strands) = 0;

  // One exchange, from start to completion.
  base::Status run(const transport::Exchange& exchange, const messages::MessageFlow& flow) {
    constexpr std::size_t kStrand = 0;
    if (auto started = start(kStrand, exchange, flow); !started) return started;
    while (true) {
      const auto event = await({&kStrand, 1});
      if (!event) return event.error();
      if (!event.value().arrived) return {};
    }
  }

  // Tells all others that this rank has failed, and ends what is under way, for a second at most.
  // Nothing runs after that.
  virtual void give_up() = 0;
  // Whether nothing is under way. If not, MPI may still use the memory of the exchanges: pass to
  // keep() whatever must live until then, which may be after this object.
  virtual bool ended() = 0;
  virtual void keep(std::shared_ptr<const void> memory) = 0;

  virtual std::uint64_t messages_sent() const = 0;
};

}  // namespace alm::carrier
