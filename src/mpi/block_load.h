// What the fullest rank carries in the next MPI_Alltoallv or MPI_Alltoallw, as all ranks know it:
// the size class of their trials. Counts are local facts. Where every rank is a member of the UDP
// carrier they tell each other their counts over UDP (carrier/uneven_steps.h), else they compare by
// an MPI collective (agreed_load.h).
#pragma once

#include <cstdint>
#include <functional>

#include "mpi/agreed_load.h"
#include "mpi/calls.h"
#include "mpi/courier.h"

namespace alm::mpi {

class BlockLoad {
 public:
  // Collective, before every exchange on trial. `wants_steps`, equal on all ranks, says for a load
  // whether the exchange will take steps made from the counts.
  base::Status learn(MpiOps& ops, const BlockCall& call, std::uint32_t self, Courier& courier,
                     const std::function<bool(std::uint64_t load)>& wants_steps);
  // The exchange that was learnt of has gone our way.
  void exchanged() { limit_for_ = agreed_.bytes(); }

  std::uint64_t bytes() const { return bytes_; }
  // No exchange of these counts can take less; 0: not known.
  base::Nanos limit() const { return limit_; }

 private:
  AgreedLoad agreed_;
  std::uint64_t limit_for_ = 0;  // load of the exchange by which leaders know the links' limit
  std::uint64_t bytes_ = 1;
  base::Nanos limit_ = 0;
};

}  // namespace alm::mpi
