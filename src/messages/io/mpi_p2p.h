// Runs the rounds of exchanges over MPI point-to-point messages, for fabrics that UDP cannot use.
//
// Strands. Several exchanges may be under way at once, each on a strand of its own. A strand's
// messages carry its number in their tag, so that exchanges of different strands never mix; on one
// strand MPI keeps the order.
//
// Chunks. A block is cut into chunks, all full but the last. The last is always shorter, so that a
// receiver notices a block of unexpected length. (A block of whole chunks ends with an empty one;
// with kChunkBytes no usual size needs that.) A block without bytes has no chunks.
//
// Order. Each block to come has one receive posted at a time, straight into the caller's buffer.
// Sends take turns (messages/turns.h), a few outstanding at once (the rolling window).
// Because the receive of every peer's next chunk is always posted, every send can complete,
// whatever the order of the plans: no deadlock.
//
// Failure. A rank that finds that sizes differ carries on and fails when its exchange is over, so
// that the others can find it too. If arrivals are reported, it fails at once, because an
// incomplete block cannot be passed on. A rank that has failed gives up: it tells all others,
// cancels its receives, and receives what is still sent to it until nothing of its own is under
// way; then the caller's memory is free again.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "base/time.h"
#include "messages/flow.h"
#include "messages/io/mpi_api.h"
#include "messages/turns.h"
#include "transport/channel.h"

namespace alm::messages {

struct P2pOptions {
  static constexpr std::uint64_t kChunkBytes = messages::MessageTurns::kChunkBytes;

  std::uint64_t chunk_bytes = kChunkBytes;
  // A rank that waits for arrivals sends on after this time or the flow's patience, whichever is
  // longer: in an uneven exchange others may have nothing for it.
  std::chrono::nanoseconds unclocked = std::chrono::milliseconds(5);
  // After giving up: how long to wait for messages under way, because others may be elsewhere; and
  // then for ranks whose messages may still come.
  std::chrono::nanoseconds giving_up = std::chrono::milliseconds(1000);
  std::chrono::nanoseconds stay_for_others = std::chrono::milliseconds(200);

  // Adapts the times to a network that is `factor` times slower.
  void slow_down(double factor) {
    for (auto* time : {&unclocked, &giving_up, &stay_for_others}) {
      *time = std::chrono::nanoseconds(base::slowed(time->count(), factor));
    }
  }
};

// What a peer has done so that exchanges must end.
struct P2pTrouble {
  transport::PeerId peer = 0;
  bool gave_up = false;               // it has failed and says so
  std::uint64_t expected = 0;         // bytes
  std::optional<std::uint64_t> sent;  // nothing: more than expected
};

class MpiP2p {
 public:
  static constexpr std::size_t kStrandsMax = 4096;  // every MPI has tags up to 32767

  struct Event {
    std::size_t index = 0;                       // of the strand in the argument of await()
    std::optional<transport::PeerId> arrived{};  // nothing: the strand's exchange is complete
  };

  // `comm` carries nothing else. `api` outlives this.
  MpiP2p(const MpiApi& api, MPI_Comm comm, std::uint32_t ranks, const P2pOptions& options = {});

  // Functions return MPI error codes. After an error only give_up() may be called.

  // Begins an exchange on a strand that runs none, with at least one send outstanding at once. Its
  // rounds and the memory of its blocks must live until await() has returned its completion, or
  // until ended() after give_up(). Every rank starts the exchanges of a strand in the same order.
  int start(std::size_t strand, const transport::Exchange& exchange, const MessageFlow& flow);
  // The block for this peer, withheld at the start, is in the send buffer now.
  void make_ready(std::size_t strand, transport::PeerId peer);
  // Waits for the next event of these strands, of which at least one runs an exchange; meanwhile
  // all strands proceed. All arrivals of an exchange come before its completion, if it reports
  // them.
  int await(std::span<const std::size_t> strands, Event& event);

  // Why await() returned MPI_ERR_TRUNCATE.
  const std::optional<P2pTrouble>& trouble() const { return trouble_; }

  // After a failure, here or elsewhere: tells all ranks and ends what is under way, for as long as
  // the options say. Nothing runs after that.
  void give_up(transport::PeerId self);
  // Whether nothing is under way. If give_up() has left something, MPI may use the memory of the
  // blocks and of this object until this is true.
  bool ended();

  std::uint64_t messages_sent() const { return messages_sent_; }

 private:
  enum class Coming : std::uint8_t { kMore, kAll, kTooMuch };  // the state of a block to come

  struct Strand {
    bool running = false;
    transport::Exchange exchange;
    std::size_t window = 0;
    std::uint64_t chunk_bytes = 0;
    bool clocked = false;
    std::chrono::nanoseconds unclocked{};
    messages::MessageTurns turns;
    std::chrono::steady_clock::time_point quiet_since;  // nothing has come or was sent since
    // One receive for each entry of rounds.recv, then the sends outstanding.
    std::vector<MPI_Request> requests;
    std::vector<std::size_t> free_sends;  // unused slots of requests
    std::vector<std::uint64_t> received;  // bytes, by entry of rounds.recv
    std::vector<Coming> coming;           // by entry of rounds.recv
    std::deque<transport::PeerId> arrivals;

    std::size_t receives() const { return exchange.rounds->recv.size(); }
  };

  static std::uint64_t chunks_of(const Strand& strand, std::uint64_t bytes);
  bool may_send(Strand& strand) const;
  static int tag_of(std::size_t strand);
  int collect_all(bool& any);
  int collect(std::size_t strand, bool& any);
  int take(Strand& strand, std::size_t receive, const MPI_Status& status, bool in_status);
  int post_receive(std::size_t strand, std::size_t receive);
  int proceed(std::size_t strand);
  int post_sends(std::size_t strand);
  std::optional<Event> next_event(std::span<const std::size_t> strands);
  int look_for_notices();
  std::byte* scratch();

  void tell_all(transport::PeerId self, int tag) const;
  void test_all();
  void drain(std::vector<bool>& settled);
  bool all_ended() const;

  const MpiApi& api_;
  MPI_Comm comm_;
  std::uint32_t ranks_;
  P2pOptions options_;
  std::vector<Strand> strands_;
  std::vector<int> finished_;
  std::vector<MPI_Status> statuses_;  // of those finished
  std::vector<std::byte> scratch_;    // for chunks that nobody wants
  std::uint64_t messages_sent_ = 0;
  std::optional<P2pTrouble> trouble_;
  bool gave_up_ = false;
  MPI_Request drained_;  // receives messages after giving up
};

}  // namespace alm::messages
