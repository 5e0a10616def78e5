// Whether calls of the MPI library have waited for time-outs while a communicator was not up
// (due.h), by the size of their blocks: what queues have held a burst need not show. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "base/time.h"

namespace alm::tuning {

class LibraryCalls {
 public:
  // A call with blocks of one size has taken `time` on this rank. The first of the communicator
  // counts for nothing: it opens connections.
  void took(std::uint64_t block_bytes, base::Nanos time);
  bool none() const { return calls_ <= 1; }

  // What the ranks agree on, each word by its maximum; as many on all ranks, whatever sizes were.
  static constexpr std::size_t kSizes = 32;  // classes of sizes: the last has 1 to 2 GiB
  using Words = std::array<std::uint64_t, 3 * kSizes>;
  Words words() const;
  void agree(const Words& largest);

  // How long a call of blocks of `bytes` may wait for time-outs.
  using StallOf = std::function<base::Nanos(std::uint64_t bytes)>;
  // The largest blocks of which none has waited, nor any of smaller ones; 0: not known.
  std::uint64_t held(const StallOf& stall_of) const;

 private:
  struct OfSize {
    std::uint64_t calls = 0;
    std::uint64_t bytes = 0;  // the most
    base::Nanos slowest = 0;
  };
  static bool waited(const OfSize& one, const StallOf& stall_of);

  std::uint64_t calls_ = 0;
  std::array<OfSize, kSizes> sizes_{};
};

}  // namespace alm::tuning
