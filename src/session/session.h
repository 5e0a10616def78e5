// Allemande between MPI_Init and MPI_Finalize, for every MPI ABI.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "communicator/communicator.h"
#include "job/job.h"
#include "job/job_setup.h"
#include "job/ops.h"
#include "job/settings.h"
#include "session/device_memory.h"
#include "session/persistent_calls.h"
#include "tally/tally.h"
#include "tuning/decisions.h"

namespace alm::session {

// What a session gets from outside. Tests run ranks of several hosts in one process.
struct Surroundings {
  job::JobSettings settings;
  // Whether an address lies in GPU memory; empty: the GPU runtimes are asked.
  std::function<bool(const void* address)> in_device_memory;
};

class Session {
 public:
  // Collective over MPI_COMM_WORLD, right after MPI_Init. Ends the job if some ranks run without
  // allemande: their calls and ours would wait for each other for ever.
  static std::unique_ptr<Session> start(job::MpiOps& mpi, Surroundings surroundings = {});

  // Collective over the call's communicator. Returns the MPI error code; nothing: pass the call
  // through.
  std::optional<int> alltoall(const courier::AlltoallCall& call);
  std::optional<int> alltoall_blocks(const courier::BlockCall& call);
  std::optional<int> alltoall_neighbours(const courier::NeighbourCall& call);

  // Nonblocking: `request` completes when the exchange is over. They wait for no rank, so calls on
  // communicators that are not up yet pass through.
  // Persistent calls are collective as the blocking forms, and `request` is started again and
  // again.
  std::optional<int> start(const courier::AlltoallCall& call, job::RequestHandle& request);
  std::optional<int> start_blocks(const courier::BlockCall& call, job::RequestHandle& request);
  std::optional<int> start_neighbours(const courier::NeighbourCall& call,
                                      job::RequestHandle& request);

  // Collective over MPI_COMM_WORLD, right before MPI_Finalize. Later calls pass through.
  void finish();

  bool accelerating() const { return accelerating_; }
  // Says on rank 0 that `tool` calls the MPI library's own function, where nothing is accelerated.
  void passed_by(std::string_view function, std::string_view tool) const;
  bool starting() const { return accelerating_ && job_.has_nonblocking(); }

  // The process is about to end otherwise; `end` says how.
  void ends(const char* end);
  // The same right before MPI_Abort, whichever rank calls it: the others may not come to say it.
  void aborts();
  tally::Tally& tally() { return job_.tally; }
  // Notes that nothing is accelerated in this job, and why. `taken` may be null.
  void refuse(tally::Taken* taken);
  // Counts a nonblocking call, or a start of a persistent one, that the library has carried; how
  // long it takes is not known.
  void note_passed(tally::Function function, std::uint64_t bytes);
  // After a call that has been counted.
  void counted(base::Nanos now) { job_.summary.refresh(now); }

  // Called with the state of a communicator that is freed (MpiOps::set_state).
  static void communicator_freed(void* state);
  // Comes before each MPI_Comm_free and MPI_Comm_disconnect. Threads of ours no longer use the
  // handle; another communicator may get it after one whose state MPI does not keep.
  void forget(job::CommHandle comm);

 private:
  Session(job::MpiOps& mpi, Surroundings surroundings);

  // What is known of a communicator before it is brought up.
  struct Shape {
    Shape() = default;
    explicit Shape(const job::Job& job)  // of MPI_COMM_WORLD
        : ranks(static_cast<int>(job.records.size())), self(static_cast<int>(job.rank)) {}

    bool inter = false, within_world = true;
    int ranks = 0, self = 0;
  };

  // The parts of start(), in this order.
  void identify();
  void read_configuration(job::JobRecord& record, job::JobSettings settings);
  void await_everybody();
  bool compare(const job::JobRecord& record);  // collective; false: nothing can be agreed on

  using Buffers = communicator::Waiting::Buffers;
  // `block`: every rank sends it to each; null: they differ. `Call`: one of courier/calls.h.
  template <class Call, class Exchange>
  std::optional<int> on_communicator(const Call& call, const Buffers& buffers,
                                     const job::TypedBuffer* block, Exchange exchange);
  // Agrees on whether all buffers of all ranks are in host memory. Returns an MPI error code.
  int in_host_memory(job::CommHandle comm, const Buffers& buffers, bool& everywhere);
  template <class Call, class Start>
  std::optional<int> begin(const Call& call, job::RequestHandle& request, Start start);
  // Collective if `comm` is new. Returns an MPI error code; if `found` stays null, the call passes
  // through.
  int find_or_create(job::CommHandle comm, communicator::Communicator*& found);
  int describe(job::CommHandle comm, Shape& shape) const;
  communicator::Communicator* open(job::CommHandle comm, const Shape& shape);
  double host_rate_mbit_s();  // of the slowest host's link; 0: not known
  void reap();
  // session_tally.cc
  void begin_tally();
  std::string refusal() const;
  // Notes why the library carries the call.
  void passes(tally::Taken* taken, std::string_view why);
  void load_profile();             // session_profile.cc
  void say_what_is_known() const;  // session_known.cc
  // session_decisions.cc
  void read_decisions();
  void tell_decisions();
  void store_decisions();

  job::MpiOps& mpi_;
  job::Job job_;
  DeviceMemory device_memory_;
  std::function<bool(const void* address)> in_device_memory_;
  bool accelerating_ = false;
  bool own_summary_ = false;  // this rank writes one, whichever it is
  std::once_flag rate_known_;
  double host_rate_mbit_s_ = 0;
  // On rank 0.
  struct DecisionFile {
    std::string path;
    bool cached = false;  // it is the one in the user's cache directory
    bool kept = false;    // decisions are to be added
    std::vector<tuning::Decision> found;
  } decisions_;
  std::mutex mutex_;  // guards communicators_; never held while MPI is called
  std::vector<std::unique_ptr<communicator::Communicator>> communicators_;
  std::map<job::CommHandle, communicator::Communicator*>
      not_kept_;  // MPI refused to keep their state
  PersistentCalls persistent_{job_};
};

}  // namespace alm::session
