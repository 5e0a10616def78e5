// The load of the next MPI_Alltoallv or MPI_Alltoallw, equal on all ranks: the bytes that the
// fullest rank carries. It is the size class of their trials. A rank knows its own counts alone.
// Where every rank is a member of the UDP group, they tell each other their counts over UDP
// (carrier/uneven_steps.h), else they agree by an MPI collective (courier/agreed_load.h).
#pragma once

#include <cstdint>
#include <functional>

#include "courier/agreed_load.h"
#include "courier/calls.h"
#include "courier/courier.h"
#include "courier/failure.h"

namespace alm::courier {

class BlockLoad {
 public:
  // Collective, before every exchange on trial. `wants_steps`, equal on all ranks, says for a load
  // whether the exchange will take steps that are made from the counts. A rank that follows the
  // others (failure.h) keeps to the load that was learnt before, or takes its own.
  base::Status learn(const BlockCall& call, std::uint32_t self, Courier& courier, Failure& failure,
                     const std::function<bool(std::uint64_t load)>& wants_steps);
  // The exchange whose load was learnt has been carried out by us, not by the library.
  void exchanged() { limit_for_ = agreed_.bytes(); }

  std::uint64_t bytes() const { return bytes_; }
  // The least time the links allow for these counts; 0: not known.
  base::Nanos limit() const { return limit_; }

 private:
  AgreedLoad agreed_;
  std::uint64_t limit_for_ = 0;  // load of the exchange for which leaders know the limit
  std::uint64_t bytes_ = 0;      // 0: not learnt yet
  base::Nanos limit_ = 0;
};

}  // namespace alm::courier
