// The algorithms of the MPI library by which a communicator's exchanges may go: on every rank the
// library is told which to take.
#pragma once

#include <array>
#include <memory>

#include "courier/calls.h"
#include "job/job.h"
#include "tuning/library_algorithms.h"

namespace alm::communicator {

class LibraryWays {
 public:
  LibraryWays(job::Job& job, job::CommHandle comm) : job_(job), comm_(comm) {}

  // Collective, once: what every rank's library may be told to take.
  tuning::AlgorithmSet ask();
  bool asked() const { return asked_; }

  // Collective in the first call for each algorithm: whether it may be taken on all ranks.
  // The library's own choice always may.
  bool ready(tuning::LibraryAlgorithm algorithm);
  // The call by the library. Precondition: ready(). The MPI error code, which has been raised.
  int run(const courier::AlltoallCall& call, tuning::LibraryAlgorithm algorithm);

  // Frees what the library has made for it. Any thread.
  void close() { told_ = {}; }

 private:
  struct Told {
    bool tried = false;
    std::unique_ptr<job::ToldLibrary> library;  // null: not on all ranks
  };

  job::Job& job_;
  job::CommHandle comm_;
  bool asked_ = false;
  std::array<Told, tuning::AlgorithmSet::kMembersMax> told_;  // by algorithm
};

}  // namespace alm::communicator
