// The interposer between MPI_Init and MPI_Finalize, whatever the MPI.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "mpi/communicator.h"
#include "mpi/job.h"
#include "mpi/ops.h"

namespace alm::mpi {

class Session {
 public:
  // Collective over MPI_COMM_WORLD, right after MPI is up. Ends the job when some ranks turn out to
  // run without allemande: their calls and ours would wait for each other for ever.
  static std::unique_ptr<Session> start(MpiOps& ops);

  // Collective over the call's communicator. The MPI error code; nothing: pass the call through.
  std::optional<int> alltoall(const AlltoallCall& call);
  std::optional<int> alltoall_blocks(const BlockCall& call);

  // Collective over MPI_COMM_WORLD, right before MPI goes down. Later calls pass through.
  void finish();

  bool accelerating() const { return accelerating_; }

  // For the attribute of a communicator that is freed (MpiOps::set_state).
  static void communicator_freed(void* state);

 private:
  explicit Session(MpiOps& ops) : job_(ops) {}

  void read_configuration(JobRecord& record);
  void await_everybody();
  template <class Exchange>
  std::optional<int> on_communicator(CommHandle comm, Exchange exchange);
  Communicator* find_or_create(CommHandle comm);
  void reap();
  void write_stats();
  // session_decisions.cc
  void load_decisions();
  void store_decisions();

  Job job_;
  bool accelerating_ = false;
  bool keeps_decisions_ = false;   // rank 0 has a file that is missing or sound
  std::vector<Decision> in_file_;  // on rank 0
  std::mutex mutex_;               // guards communicators_; never held while MPI is called
  std::vector<std::unique_ptr<Communicator>> communicators_;
};

}  // namespace alm::mpi
