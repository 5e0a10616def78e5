// The load of the next exchange among neighbours, equal on all ranks: the bytes that the fullest
// rank carries. It is the size class of their trials. Where blocks have one size and all ranks know
// the topology, nothing needs to be agreed on; else the ranks agree by an MPI collective, ever more
// rarely (courier/agreed_load.h).
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "communicator/neighbourhood.h"
#include "courier/agreed_load.h"
#include "courier/calls.h"
#include "job/job.h"
#include "meeting/members.h"

namespace alm::communicator {

class NeighbourLoad {
 public:
  // Collective, before every exchange on trial. `one_size`: all blocks of this rank are alike.
  base::Status learn(job::Job& job, const courier::BlockCall& call, bool one_size,
                     courier::Failure& failure, const meeting::Members& members,
                     const Neighbourhood& neighbourhood);

  // The load of such a call, where all ranks know it without an agreement.
  static std::optional<std::uint64_t> known(const courier::BlockCall& call, bool one_size,
                                            const Neighbourhood& neighbourhood);

  std::uint64_t bytes() const { return bytes_; }
  // The least time the links of the cluster file allow; 0: not known.
  base::Nanos limit() const { return limit_; }

 private:
  base::Status agree(courier::Failure& failure, const courier::BlockCall& call,
                     const meeting::Members& members);

  courier::AgreedLoad agreed_;
  std::uint64_t bytes_ = 1;
  base::Nanos limit_ = 0;
  std::uint64_t limit_for_ = 0;  // bytes of a block
};

}  // namespace alm::communicator
