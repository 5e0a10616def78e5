// The rounds of an exchange over MPI point-to-point messages, for fabrics UDP cannot use.
//
// Blocks are cut into chunks. Of every block one receive is posted at a time, straight into the
// caller's buffer; sends go out in the order of the round, chunk by chunk through its partners when
// the round is interleaved, a few outstanding at once (the rolling window). A round's sends start
// when the round before is complete. Because every peer's next chunk always has its receive posted,
// every send can complete, whatever order the plans ask for: no deadlock.
//
// The tag tells the last chunk of a block. So a receiver notices a block that is not as long as it
// expects; everything is sent and taken nevertheless, and the exchange fails when it is over. Who
// gives up then tells all others in place of its next chunk: nobody waits for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "transport/channel.h"
#include "transport/io/mpi_api.h"

namespace alm::io {

struct P2pOptions {
  std::uint64_t chunk_bytes = 64u << 10;  // large enough for full speed, small enough to interleave
};

// What a peer has sent that cannot go on.
struct P2pTrouble {
  transport::PeerId peer = 0;
  bool gave_up = false;
  std::uint64_t expected = 0;         // bytes
  std::optional<std::uint64_t> sent;  // nothing: more than expected
};

class MpiP2p {
 public:
  // `comm` carries nothing else. `api` outlives this.
  MpiP2p(const MpiApi& api, MPI_Comm comm, std::uint32_t ranks, const P2pOptions& options = {});

  // Runs one exchange to completion, with 1 to `ranks` sends outstanding at once; returns an MPI
  // error code. Collective, one at a time.
  int run(const transport::Exchange& exchange, std::uint32_t window_chunks);
  // Why run() returned MPI_ERR_TRUNCATE.
  const std::optional<P2pTrouble>& trouble() const { return trouble_; }

  // After an exchange that has failed, here or elsewhere: tells everybody. Nothing runs after.
  void give_up(transport::PeerId self);

  std::uint64_t messages_sent() const { return messages_sent_; }

 private:
  struct RoundState {
    std::size_t send_at = 0, send_end = 0;  // partners of the round, indices into rounds.send
    std::size_t recv_at = 0, recv_end = 0;  // the first not yet seen complete
    std::size_t partner = 0;                // next in sending order
    std::uint64_t chunk = 0;
    bool sends_posted = false;
  };

  void begin_round(const transport::Exchange& exchange, std::size_t round);
  bool round_complete(const transport::Exchange& exchange);
  int post_receive(const transport::Exchange& exchange, transport::PeerId peer);
  int post_sends(const transport::Exchange& exchange);
  bool next_send(const transport::Exchange& exchange, transport::PeerId& peer,
                 std::uint64_t& offset);
  int collect(const transport::Exchange& exchange, bool& any);
  int take(const transport::Exchange& exchange, transport::PeerId peer, const MPI_Status& status,
           bool in_status);

  const MpiApi& api_;
  MPI_Comm comm_;
  P2pOptions options_;
  std::vector<MPI_Request> requests_;  // one receive per rank, then sends
  std::vector<int> finished_;
  std::vector<MPI_Status> statuses_;     // of those finished
  std::vector<std::uint64_t> received_;  // bytes of whole chunks, per rank
  std::vector<bool> complete_;           // the last chunk has come, per rank
  std::vector<std::byte> beyond_;        // where chunks go that are more than expected
  std::vector<std::size_t> free_sends_;  // unused slots of requests_, of the window
  std::size_t window_ = 0;               // slots of the exchange that runs
  RoundState round_;
  std::uint64_t messages_sent_ = 0;
  std::optional<P2pTrouble> trouble_;
};

}  // namespace alm::io
