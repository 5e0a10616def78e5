// Decides what one rank of an exchange over messages sends next. Blocks travel in chunks, a few
// under way at once; the caller reports what has left and what has come. No bytes, no requests and
// no clock, so that MPI messages (messages/io/mpi_p2p.h) and simulated ones (harness/messages.h)
// take the same turns.
//
// Chunks go out in the order of the round, one for each partner in turn if the round is
// interleaved; partners whose block is withheld are skipped. With a window, arrivals clock what is
// sent (000 Alg 2): the number of chunks sent less those received, clamped at 0, stays within the
// window. A round's sends start when the round before is complete.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/rounds.h"

namespace alm::messages {

class MessageTurns {
 public:
  // Large enough for full speed, small enough to interleave; no power of two, see mpi_p2p.h.
  static constexpr std::uint64_t kChunkBytes = (64u << 10) + 64;
  // Chunks under way at once where nothing is lost.
  static constexpr std::uint32_t kFew = 4;

  // In chunks: `to_send` by entry of rounds.send, `to_come` in total. `window` 0: arrivals clock
  // nothing. `rounds` must outlive the exchange.
  void start(const base::Rounds& rounds, std::vector<std::uint64_t> to_send, std::uint64_t to_come,
             std::uint32_t window);
  // `send` is an entry of rounds.send. Its chunks wait for make_ready().
  void withhold(std::size_t send) { withheld_[send] = 1; }
  void make_ready(base::PeerId peer);

  // The entry of rounds.send whose next chunk is to go out, and the number of that chunk.
  struct Turn {
    std::size_t send = 0;
    std::uint64_t chunk = 0;
  };
  // The next chunk, which the caller must send. Nothing: what is left of the round is withheld.
  // Precondition: not held_back().
  std::optional<Turn> next();
  bool anything_left() const { return left_ > 0; }  // in this round
  // Whether the window allows no chunk now. Equal blocks cannot hold back all ranks: what was sent
  // comes.
  bool held_back() const { return window_ != 0 && ahead_ >= window_ && to_come_ > 0; }
  // Allows one more chunk although nothing has come.
  void relent() { --ahead_; }
  void came();
  // The block from rounds.recv[receive] is complete.
  void whole(std::size_t receive) { whole_[receive] = 1; }
  bool is_whole(std::size_t receive) const { return whole_[receive] != 0; }

  // To be called when nothing of this round is under way. True: it is complete, and the next one
  // begins.
  bool end_round();
  bool over() const { return round_ >= rounds_->count(); }

 private:
  void begin_round();

  const base::Rounds* rounds_ = nullptr;
  std::uint32_t window_ = 0;
  std::uint32_t ahead_ = 0;  // chunks sent less those received
  std::uint64_t to_come_ = 0;
  std::vector<std::uint64_t> to_send_, sent_;   // by entry of rounds.send
  std::vector<std::uint8_t> withheld_, whole_;  // by entry of rounds.send; of rounds.recv
  std::size_t round_ = 0;
  std::size_t partner_ = 0;     // the next entry of rounds.send
  std::uint64_t left_ = 0;      // chunks to send in this round
  std::size_t receive_at_ = 0;  // the round's first entry of rounds.recv not seen complete
};

}  // namespace alm::messages
