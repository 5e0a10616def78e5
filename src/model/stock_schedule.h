// What the all-to-all algorithms of MPI libraries post, and when: the part of one rank at a time,
// so that a thousand ranks take no memory for it.
//
//   openmpi:linear          all receives, then all sends, to r - 1, r - 2, ...
//   openmpi:linear-sync     the same, at most `reqs` of each under way
//   openmpi:pairwise        p - 1 rounds: to r + k, from r - k
//   openmpi:bruck           log2 p rounds: to r + 2^k, of the blocks whose distance has that digit
//   mpich:scattered         as linear, in batches of `throttle` (32), each complete before the next
//   mpich:pairwise          p - 1 rounds: r xor k where p is a power of two, else to r + k
//   mpich:bruck             as Bruck in radix `k` (2): k - 1 partners at once, to r + d k^i
//
//   query                   no library's: every rank asks all others, 0, 1, ..., and answers
//   whoever
//                           asks, as servers do whose answers a client adds up
//
// From the sources of Open MPI 4.1 (ompi/mca/coll/base/coll_base_alltoall.c) and MPICH 4.0
// (src/mpi/coll/alltoall). The libraries' own choices by size are not known here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace alm::model {

struct StockRound {
  struct Send {
    std::uint32_t to = 0;
    std::uint32_t blocks = 1;
  };
  std::vector<Send> sends;              // in the order of posting
  std::vector<std::uint32_t> receives;  // from whom; posted before the sends
};

// How a library sends one message over TCP. Messages up to `eager_bytes` are written to the socket
// whatever the receiver does. Of longer ones the first `first_bytes` are, and the rest when the
// receiver has posted its receive and said so.
struct StockTransfer {
  std::uint32_t header_bytes = 0;  // before each message
  std::uint64_t eager_bytes = 0;
  std::uint64_t first_bytes = 0;
};

class StockSchedule {
 public:
  // `candidate` is named as in `allemande bench`. kBadInput names what is known.
  static base::Result<StockSchedule> make(std::string_view candidate, std::uint32_t ranks);

  const std::string& name() const { return name_; }
  std::uint32_t rounds() const;
  StockRound round(std::uint32_t rank, std::uint32_t number) const;
  // 0: everything of a round is posted at once. Else at most so many sends and so many receives
  // are under way.
  std::uint32_t window() const { return window_; }
  bool combines() const { return kind_ == Kind::kBruck; }  // messages hold several blocks
  bool asks() const { return kind_ == Kind::kQuery; }      // nothing is sent unasked
  const StockTransfer& transfer() const { return transfer_; }

 private:
  enum class Kind : std::uint8_t { kLinear, kShift, kXor, kBruck, kQuery };

  StockRound linear(std::uint32_t rank, std::uint32_t number) const;
  StockRound bruck(std::uint32_t rank, std::uint32_t number) const;

  std::string name_;
  std::uint32_t ranks_ = 0;
  Kind kind_ = Kind::kLinear;
  std::uint32_t window_ = 0;
  std::uint32_t batch_ = 0;  // linear: partners of a round, the rank itself included; 0: all
  std::uint32_t radix_ = 2;  // Bruck's
  StockTransfer transfer_;
};

}  // namespace alm::model
