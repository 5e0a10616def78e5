// The state of one user communicator, and what happens to a call on it. The call goes down once: to
// the way on trial (trials.h), to plain bytes (courier/staging.h, courier/block_staging.h) and to
// the courier (courier/courier.h). It comes up once, with the time it took or the failure
// (courier/failure.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "communicator/library_ways.h"
#include "communicator/neighbour_load.h"
#include "communicator/neighbourhood.h"
#include "communicator/nonblocking_queue.h"
#include "communicator/report.h"
#include "communicator/taken_ways.h"
#include "communicator/trials.h"
#include "communicator/waiting.h"
#include "courier/block_load.h"
#include "courier/block_staging.h"
#include "courier/calls.h"
#include "courier/courier.h"
#include "courier/failure.h"
#include "courier/staging.h"
#include "job/job.h"
#include "meeting/members.h"
#include "ways/repertoire.h"

namespace alm::communicator {

class Communicator {
 public:
  // For an intracommunicator of two or more ranks. Calls pass through until it is brought up.
  Communicator(job::Job& job, job::CommHandle comm, std::uint32_t ranks, std::uint32_t self,
               std::shared_ptr<job::CommLife> life = std::make_shared<job::CommLife>());

  // Makes one and brings it up.
  static std::unique_ptr<Communicator> create(job::Job& job, job::CommHandle comm,
                                              std::uint32_t ranks, std::uint32_t self);

  // Collective, once (bring_up.h). `refusal`: why this rank cannot take part; then all ranks pass
  // calls through. Empty: it can. Nonblocking calls, if the job has them, are carried where every
  // rank has the thread for them; else they pass through on all.
  void bring_up(std::string_view refusal = {});
  // The same, in the first call that makes it worth while. Until then calls pass through.
  void bring_up_when_due(Waiting waiting) { waiting_ = std::move(waiting); }
  // Null: it does not wait.
  Waiting* waits() { return waiting_ ? &*waiting_ : nullptr; }
  // Comes before each call while it waits. Collective; returns an MPI error code.
  int come(const Waiting::Buffers& buffers, const job::TypedBuffer* block);
  const meeting::Members& members() const { return members_; }
  // From now on all calls go to the MPI library. `reason` is logged.
  void pass_through(std::string reason);

  // Returns the MPI error code; nothing: pass the call through.
  std::optional<int> alltoall(const courier::AlltoallCall& call);
  std::optional<int> alltoall_blocks(const courier::BlockCall& call);
  // With MPI alone, on a communicator with a topology.
  std::optional<int> alltoall_neighbours(const courier::NeighbourCall& call);

  // Nonblocking, with MPI alone: `request` completes when the exchange is over. Buffers must stay
  // until then, datatypes need not.
  std::optional<int> start(const courier::AlltoallCall& call, job::RequestHandle& request);
  std::optional<int> start_blocks(const courier::BlockCall& call, job::RequestHandle& request);
  std::optional<int> start_neighbours(const courier::NeighbourCall& call,
                                      job::RequestHandle& request);
  // In MPI_Finalize: waits for what has been started. Ranks that wait for this one then fail.
  void leave();
  bool idle() const { return queue_.idle(); }

  // Of the program's communicator.
  const std::shared_ptr<job::CommLife>& life() const { return life_; }
  // An error of this rank alone: the other ranks, which are in this call, fail with it as well.
  int withdraw(const char* function, const base::Error& error);
  // Raises an error that was found after the last call was complete through the error handler.
  void raise_late_failure();
  // Also true of a communicator that has failed: its calls raise the error.
  bool accelerates() const { return open_; }
  const courier::Failure& failure() const { return failure_; }
  // What prevents UDP, equal on all ranks; empty: nothing.
  const std::string& obstacle() const { return obstacle_; }
  // The counters of UDP, until close().
  transport::Counters traffic() const { return courier_.traffic(); }

  // Ends the traffic and frees the memory. Precondition: peers need nothing any more.
  void close();

 private:
  friend class PersistentLane;

  int exchange(const courier::AlltoallCall& call);
  int exchange_on_trial(const courier::AlltoallCall& call);
  int exchange_blocks_on_trial(const courier::BlockCall& call);
  int exchange_neighbours(const courier::NeighbourCall& call);
  // Whether all ranks can take this way. Collective in the first call that would.
  bool can_take(tuning::Way way);
  int note_time(const char* function, Tried& tried, base::Nanos begin, int code);

  int stage_and_carry(const courier::AlltoallCall& call, tuning::Way way);
  int stage_and_carry(const courier::BlockCall& call, tuning::Way way, courier::Counts counts,
                      std::uint64_t most = 0);
  int queue(const courier::AlltoallCall& call, tuning::Way way, job::RequestHandle& request);
  int queue(const courier::BlockCall& call, std::uint64_t mean_bytes, courier::Counts counts,
            std::uint64_t most, job::RequestHandle& request);
  job::Outcome carry_out(const std::shared_ptr<QueuedAlltoall>& queued, tuning::Way way,
                         base::Nanos begin);
  job::Outcome carry_out(const std::shared_ptr<QueuedBlocks>& queued, base::Nanos begin,
                         courier::Counts counts = courier::Counts::kUntold, std::uint64_t most = 0);
  int enqueue(const char* function, std::function<job::Outcome()> carry,
              job::RequestHandle& request);
  // Called in the thread that carries the exchange out.
  job::Outcome carry(const courier::AlltoallCall& call, courier::Staging& staged, tuning::Way way);
  job::Outcome carry(const courier::BlockCall& call, courier::BlockStaging& staged, tuning::Way way,
                     courier::Counts counts, std::uint64_t most = 0);

  int raise(const job::Outcome& outcome);
  int or_withdraw(const char* function, const std::function<int()>& work);

  job::Job& job_;
  job::CommHandle comm_;
  std::shared_ptr<job::CommLife> life_;
  bool open_ = false;
  std::optional<Waiting> waiting_;      // not brought up yet
  std::optional<bool> opens_messages_;  // beside UDP, on all ranks; nothing: not asked yet
  std::string obstacle_;

  // Each uses those before it.
  meeting::Members members_;
  ways::Repertoire ways_;
  courier::Courier courier_;
  Report report_;
  courier::Failure failure_;
  Trials trials_;
  courier::BlockLoad load_;
  // From the first call among neighbours on; where such calls may be nonblocking, from the start.
  std::optional<Neighbourhood> neighbourhood_;
  NeighbourLoad neighbour_load_;
  LibraryWays library_;
  TakenWays taken_;
  std::shared_ptr<courier::Staging> staging_ = std::make_shared<courier::Staging>();
  std::shared_ptr<courier::BlockStaging> blocks_ = std::make_shared<courier::BlockStaging>();
  NonblockingQueue queue_;  // last: what is queued uses all of the above
};

}  // namespace alm::communicator
