// What one rank of an exchange over messages sends next. Blocks travel in chunks, of which a few
// are under way at once; whoever carries them says what has left and what has come. No bytes, no
// requests and no clock: MPI messages (transport/io/mpi_p2p.h) and simulated ones take the same
// turns.
//
// Chunks go out in the order of the round, one of each partner in turn when the round is
// interleaved; partners whose block is withheld are passed over. With a window, what comes clocks
// what is sent (000 Alg 2): at most so many chunks more have been sent than have come, clamped at
// 0. A round's sends start when the round before is complete.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/rounds.h"

namespace alm::transport {

class MessageTurns {
 public:
  // Large enough for full speed, small enough to interleave; a little more than a power of two.
  static constexpr std::uint64_t kChunkBytes = (64u << 10) + 64;
  // Chunks under way at once where nothing is lost.
  static constexpr std::uint32_t kFew = 4;

  // `to_send` by rounds.send, `to_come` in all, in chunks; `window` 0: what comes clocks nothing.
  // `rounds` must outlive the exchange.
  void start(const base::Rounds& rounds, std::vector<std::uint64_t> to_send, std::uint64_t to_come,
             std::uint32_t window);
  // By rounds.send. Its chunks wait for make_ready().
  void withhold(std::size_t send) { withheld_[send] = 1; }
  void make_ready(base::PeerId peer);

  // The block (by rounds.send) whose next chunk is to go out, and the number of that chunk.
  struct Turn {
    std::size_t send = 0;
    std::uint64_t chunk = 0;
  };
  // Nothing: what is left of the round is withheld. Whoever asks looks at held_back() first and
  // sends what he is told.
  std::optional<Turn> next();
  bool anything_left() const { return left_ > 0; }  // in this round
  // By the window. Of equal blocks not everybody is: all that was sent comes.
  bool held_back() const { return window_ != 0 && ahead_ >= window_ && to_come_ > 0; }
  // One chunk more, although nothing has come.
  void relent() { --ahead_; }
  void came();
  // Of the block rounds.recv[receive] nothing more will come.
  void whole(std::size_t receive) { whole_[receive] = 1; }
  bool is_whole(std::size_t receive) const { return whole_[receive] != 0; }

  // With nothing of this round under way any more: true if it is complete; the next one begins.
  bool end_round();
  bool over() const { return round_ >= rounds_->count(); }

 private:
  void begin_round();

  const base::Rounds* rounds_ = nullptr;
  std::uint32_t window_ = 0;
  std::uint32_t ahead_ = 0;  // chunks sent and not balanced, at most the window
  std::uint64_t to_come_ = 0;
  std::vector<std::uint64_t> to_send_, sent_;   // by rounds.send
  std::vector<std::uint8_t> withheld_, whole_;  // by rounds.send, by rounds.recv
  std::size_t round_ = 0;
  std::size_t partner_ = 0;     // next in sending order, index into rounds.send
  std::uint64_t left_ = 0;      // chunks to send in this round
  std::size_t receive_at_ = 0;  // of this round, the first not yet seen whole
};

}  // namespace alm::transport
