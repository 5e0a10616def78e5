// Tells the MPI library which algorithm its MPI_Alltoall takes, by control variables (MPI_T), which
// have no effect outside of the calls that are to be told:
//
//   Open MPI  reads them when it makes a communicator. Each algorithm has one of its own, with the
//             ranks of the program's.
//   MPICH     reads them in each call, in which they are set.
//
// Both variables are of the whole process: a thread of the program that makes a communicator or
// exchanges at the same time would find them set, on this rank alone. So programs that have asked
// for MPI_THREAD_MULTIPLE tell nothing, nor do those that have set such variables themselves.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "base/result.h"
#include "job/ops.h"
#include "messages/io/control_variable.h"
#include "messages/io/mpi_api.h"
#include "tuning/library_algorithms.h"

namespace alm::mpi {

class AlgorithmVariables final : public job::LibraryAlgorithms {
 public:
  // `api` and `ops` outlive this.
  AlgorithmVariables(const messages::MpiApi& api, job::MpiOps& ops) : api_(api), ops_(ops) {}

  tuning::AlgorithmSet known() override;
  base::Result<std::unique_ptr<job::ToldLibrary>> tell(job::CommHandle comm,
                                                       tuning::LibraryAlgorithm algorithm) override;
  // Before PMPI_Finalize.
  void close();

 private:
  bool look();
  bool look_at_openmpi();
  bool look_at_mpich();

  const messages::MpiApi& api_;
  job::MpiOps& ops_;
  bool looked_ = false;
  std::optional<messages::ToolInterface> tools_;
  std::optional<messages::ControlVariable> switch_;  // Open MPI: whether it looks at the algorithm
  std::optional<messages::ControlVariable> algorithm_;
  int own_choice_ = 0;                               // MPICH: the value of algorithm_ for that
  std::map<tuning::LibraryAlgorithm, int> numbers_;  // values of algorithm_
};

}  // namespace alm::mpi
