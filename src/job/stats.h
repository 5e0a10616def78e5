// The counters of a process, by message size and in total, as JSON.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "tally/tally.h"
#include "transport/channel.h"
#include "transport/io/endpoint.h"

namespace alm::job {

constexpr std::size_t kSizesCounted = 32;
constexpr std::size_t kCallLines = 64;

// Trivially copyable: rank 0 may gather and add them all up.
struct StatsRecord {
  std::uint64_t exchanges = 0;       // accelerated calls
  std::uint64_t nonblocking = 0;     // .. started by a nonblocking call
  std::uint64_t passed_through = 0;  // calls left to the MPI library
  std::uint64_t native = 0;          // calls by the library on trial, or because it is faster
  std::uint64_t over_udp = 0, over_mpi = 0;  // communicators, by transport
  std::uint64_t mpi_messages = 0;
  std::uint64_t rejected_unknown = 0;  // datagrams for no set of this process
  transport::Counters channel;
  io::EndpointCounters endpoint;

  struct Size {
    std::uint64_t bytes = 0;  // per pair of ranks; 0: not used
    std::uint64_t exchanges = 0, packets = 0, retransmitted = 0;
  };
  std::array<Size, kSizesCounted> sizes{};

  // What the tally holds of this process, without the distribution of times.
  struct Calls {
    tally::Function function = tally::Function::kAlltoall;
    std::uint8_t width = 0;      // as in tally::Line
    std::array<char, 46> way{};  // may be cut off
    std::uint64_t calls = 0;     // 0: not used
    base::Nanos time = 0;
  };
  std::array<Calls, kCallLines> calls{};

  // The entry of a message size; when the table is full, further sizes share the last one.
  Size& size(std::uint64_t bytes);
  // Adds to the entry of this function, size class and way; the last one takes what is too much.
  void add_calls(const Calls& more);
};

// Thread-safe: several threads may exchange on different communicators.
class Stats {
 public:
  template <class Change>
  void update(Change change) {
    const std::lock_guard lock(mutex_);
    change(record_);
  }
  StatsRecord record() const {
    const std::lock_guard lock(mutex_);
    return record_;
  }

 private:
  mutable std::mutex mutex_;
  StatsRecord record_;
};

void add_tally(StatsRecord& record, const tally::Tally& tally);
void add(StatsRecord& total, const StatsRecord& more);
std::string to_json(const StatsRecord& stats, std::uint32_t ranks);
base::Status write_file(const std::string& path, const std::string& text);

// `path` with every %r replaced by the rank.
std::string path_for_rank(const std::string& path, std::uint32_t rank);

}  // namespace alm::job
