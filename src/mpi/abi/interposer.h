// The interposer of a process. It is a global, because preloading leaves no other place to keep it.
#pragma once

#include <atomic>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "mpi/abi/entry.h"
#include "mpi/abi/library.h"
#include "mpi/abi/neighbours.h"
#include "mpi/abi/ops.h"
#include "mpi/abi/passed_requests.h"
#include "session/session.h"
#include "tally/tally.h"

namespace alm::mpi {

class Interposer {
 public:
  // Null while no MPI library is loaded. Never destroyed: a thread may still be in it during exit.
  static Interposer* get();

  const Library& library() const { return *library_; }

  // The thread level to request from the library when the program requests `required`.
  int thread_level(int required);
  // Collective over MPI_COMM_WORLD. `code` is what the library's MPI_Init returned.
  int initialised(int code);
  void finalising();

  // Warns if the program has used MPI and no call has come here. Also says what ALLEMANDE_SUMMARY
  // asks for, where MPI_Finalize has not been called.
  void at_exit() const;
  // Right before MPI_Abort.
  void aborting() const;

  // After a tool's own MPI_Init and before its MPI_Finalize, which may pass PMPI_Init here by.
  int initialised_by_tool(int code);
  void finalised_by_tool();
  // A tool's function, at `next`, called the MPI library's own. Warns once.
  void passed_by(const char* name, const void* next);

  // Returns the MPI error code; nothing: pass the call through. Counts and times both.
  template <class Given>
  std::optional<int> alltoall(const Given& given, const entry::Native& native);
  // The nonblocking forms, and the persistent ones.
  template <class Given>
  std::optional<int> ialltoall(const Given& given);

  // Counts a nonblocking call that the library has carried, or is to count the starts of a
  // persistent one. Returns its `code`.
  template <class Given>
  int passed(const Given& given, int code);

  // Called before the library frees the communicator at `comm`.
  void freeing(const void* comm);

  // Called before the library waits for all of these requests: if all are ours, sleeps until they
  // are complete. The library then finds them complete.
  void sleep_until_complete(int count, const void* requests);

  // Starts requests by `native`. Where ours are among them, their threads are told.
  int start(int count, void* requests, const std::function<int()>& native);
  // Called before the library frees the request.
  void freeing_request(const void* request);
  // The error code where the request may not be cancelled; nothing: the library decides.
  std::optional<int> refuse_to_cancel(const void* request);
  // After the library has found requests complete and returned `code`: the one at `index`, or those
  // at the `count` indices (null: the first `count`). Raises the errors of ours; the code to
  // return.
  int completed(int code, const void* requests, int index);
  int completed_some(int code, int count, const int* indices, const void* requests, void* statuses);

  // Keeps arguments that a nonblocking call of the library refers to after it has returned, until
  // MPI_Finalize.
  const int* keep(std::vector<int> values);

 private:
  explicit Interposer(std::unique_ptr<Library> library) : library_(std::move(library)) {}

  template <class Given>
  std::optional<int> accelerate(const Given& given, const entry::Native& native,
                                tally::Taken* taken);
  // To each rank; on average, where blocks have sizes of their own. Precondition: the arguments are
  // valid.
  std::uint64_t bytes_of(const entry::Arguments& given) const;
  std::uint64_t bytes_of(const entry::BlockArguments& given) const;
  std::uint64_t bytes_of(std::int64_t count, std::uintptr_t type) const;
  int raise(job::CommHandle comm, const char* function, const std::exception& failure) const;
  // The arguments as the session takes them. Nothing: invalid; the MPI library reports that.
  std::optional<courier::AlltoallCall> describe_call(const entry::Arguments& given) const;
  std::optional<job::TypedBuffer> describe_side(const entry::Arguments::Side& side) const;
  struct Blocks {
    std::vector<job::TypedBuffer> send, recv;
    courier::BlockCall call;
  };
  std::optional<Blocks> describe_call(const entry::BlockArguments& given) const;
  struct NeighbourBlocks {
    std::vector<job::TypedBuffer> send, recv;
    courier::NeighbourCall call;
  };
  std::optional<NeighbourBlocks> describe_neighbours(const entry::Arguments& given) const;
  std::optional<NeighbourBlocks> describe_neighbours(const entry::BlockArguments& given) const;
  template <class Given>
  static NeighbourBlocks name(const Given& given, NeighbourBlocks blocks);
  // Nothing: the communicator has no topology, or the call is invalid.
  template <class Given>
  std::optional<Degrees> degrees_of_call(const Given& given) const;

  std::unique_ptr<Library> library_;
  std::unique_ptr<AbiOps> ops_;
  std::unique_ptr<session::Session> session_;
  bool initialised_ = false;
  std::atomic<bool> finalised_ = false;
  int asked_ = MPI_THREAD_SINGLE;  // the thread level, by the program; not known past a tool
  bool passed_by_ = false;         // MPI_Init did not come through PMPI_Init here
  std::atomic<bool> warned_ = false;
  PassedRequests passed_;
  std::mutex kept_mutex_;
  std::deque<std::vector<int>> kept_;
};

}  // namespace alm::mpi
