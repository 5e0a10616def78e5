// The summary of a process's exchanges, as text for people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/time.h"
#include "tally/tally.h"

namespace alm::tally {

constexpr std::size_t kSummaryBytesMax = 32 * 1024;

struct Subject {
  std::uint32_t rank = 0, ranks = 0;
  std::string_view end;  // "at MPI_Finalize"
  base::Nanos now = 0;
};

// Writes it into `out` and returns its length. It allocates nothing and takes no lock, so that a
// signal handler may call it. What does not fit is left out.
std::size_t write_summary(const Tally& tally, const Subject& subject, std::span<char> out);

}  // namespace alm::tally
