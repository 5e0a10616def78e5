// The load of MPI_Alltoallv and MPI_Alltoallw, where ranks share hosts or exchange by MPI messages:
// the bytes that the fullest rank carries. It is the size class of their trials. The ranks agree on
// it by an MPI collective. When they do follows from earlier agreements, so that all of them do it
// at the same call: at every call while the load changes, ever more rarely while it does not.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "base/time.h"
#include "courier/failure.h"

namespace alm::courier {

class AgreedLoad {
 public:
  // Collective, before every exchange. `send` and `recv`: bytes to and from each rank, the own
  // block included. `limit`: the least time the links allow for this exchange, if this rank knows
  // it; else 0. An error: this rank does not know what the others have agreed on, if they have.
  base::Status prepare(const char* function, Failure& failure, std::span<const std::uint64_t> send,
                       std::span<const std::uint64_t> recv, std::uint32_t self, base::Nanos limit);

  // The load as last agreed on, 1 or more.
  std::uint64_t bytes() const { return bytes_; }
  base::Nanos limit() const { return limit_; }

 private:
  std::uint64_t bytes_ = 1;
  base::Nanos limit_ = 0;
  std::uint64_t wait_ = 0;  // calls until the ranks compare again
  std::uint32_t without_news_ = 0;
};

}  // namespace alm::courier
