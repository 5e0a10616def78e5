// The rounds of an exchange over MPI point-to-point messages, for fabrics UDP cannot use.
//
// Blocks are cut into chunks. Of every block one receive is posted at a time, straight into the
// caller's buffer; sends go out in the order of the round, chunk by chunk through its partners when
// the round is interleaved, a few outstanding at once (the rolling window). A round's sends start
// when the round before is complete. Because every peer's next chunk always has its receive posted,
// every send can complete, whatever order the plans ask for: no deadlock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "transport/channel.h"
#include "transport/io/mpi_api.h"

namespace alm::io {

struct P2pOptions {
  std::uint64_t chunk_bytes = 64u << 10;  // large enough for full speed, small enough to interleave
};

class MpiP2p {
 public:
  // `comm` carries nothing else. `api` outlives this.
  MpiP2p(const MpiApi& api, MPI_Comm comm, std::uint32_t ranks, const P2pOptions& options = {});

  // Runs one exchange to completion, with 1 to `ranks` sends outstanding at once; returns an MPI
  // error code. Collective, one at a time.
  int run(const transport::Exchange& exchange, std::uint32_t window_chunks);

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

  const MpiApi& api_;
  MPI_Comm comm_;
  P2pOptions options_;
  std::vector<MPI_Request> requests_;  // one receive per rank, then sends
  std::vector<int> finished_;
  std::vector<std::uint64_t> received_;  // bytes complete, per rank
  std::vector<std::size_t> free_sends_;  // unused slots of requests_, of the window
  std::size_t window_ = 0;               // slots of the exchange that runs
  RoundState round_;
  std::uint64_t messages_sent_ = 0;
};

}  // namespace alm::io
