// The MPI functions that exchanges need beyond Bootstrap, without <mpi.h>: those that only an MPI
// library has. Implemented in mpi/abi/ops.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "carrier/point_to_point.h"
#include "job/bootstrap.h"
#include "job/comm_life.h"
#include "tuning/library_algorithms.h"

namespace alm::job {

using RequestHandle = std::uintptr_t;

// How a nonblocking exchange has ended: by an MPI error code or an error of ours.
struct Outcome {
  int code = kMpiSuccess;
  base::Error failure = {};

  bool good() const { return code == kMpiSuccess && failure.message.empty(); }
};

// A request that the user waits for and another thread completes. Errors reach the user in the call
// that finds it complete: through the communicator's error handler, and as that call's code.
class PendingRequest {
 public:
  virtual ~PendingRequest() = default;
  virtual RequestHandle handle() const = 0;
  // Once, from any thread.
  virtual void complete(Outcome outcome) = 0;
};

// A request that the program starts again and again, and waits for each time. Another thread, for
// which most of this is, carries out what is started.
class PersistentRequest {
 public:
  virtual ~PersistentRequest() = default;
  virtual RequestHandle handle() const = 0;
  // Whether it has been started since it was completed last.
  virtual bool started() = 0;
  // Whether a start has been seen that is not completed yet. Others are found by started() alone.
  virtual bool announced() const = 0;
  // started() does not show what was announced: who waits for that sleeps no longer.
  virtual void not_found() = 0;
  // Once for each start. Errors reach the program as those of PendingRequest.
  virtual void complete(Outcome outcome) = 0;
  // The program has freed it.
  virtual bool freed() const = 0;
  // The program never gets it.
  virtual void drop() = 0;
};

// The neighbours of a rank in a communicator with a topology, by slot: by the place that a block
// has in the arguments of the neighbour collectives.
struct Neighbours {
  static constexpr std::uint32_t kNobody = ~0u;  // beyond the edge of a Cartesian grid

  // A block comes from this rank, where it stands in this slot.
  struct Source {
    std::uint32_t rank = kNobody;
    std::uint32_t slot = 0;
  };

  std::vector<std::uint32_t> to;
  std::vector<Source> from;
};

// Carries exchanges of one communicator out by one algorithm of the library.
class ToldLibrary {
 public:
  virtual ~ToldLibrary() = default;
  // `exchange` is the program's call, on a communicator of the same ranks in the same order.
  // Returns its error code, which has been raised on the program's communicator.
  virtual int run(const std::function<int(CommHandle on)>& exchange) = 0;
};

// The algorithms of MPI_Alltoall that the library of this rank may be told to take.
class LibraryAlgorithms {
 public:
  virtual ~LibraryAlgorithms() = default;
  // The first call may take a while.
  virtual tuning::AlgorithmSet known() = 0;
  // Collective over `comm`. Precondition: `algorithm` is known on all ranks.
  virtual base::Result<std::unique_ptr<ToldLibrary>> tell(CommHandle comm,
                                                          tuning::LibraryAlgorithm algorithm) = 0;
};

// "rank 3 on h3".
using RankName = std::function<std::string(std::uint32_t rank)>;

class MpiOps : public Bootstrap {
 public:
  virtual std::string library() const = 0;  // "Open MPI v5.0.8"
  virtual CommHandle world() const = 0;
  [[nodiscard]] virtual int comm_size(CommHandle comm, int& size) const = 0;
  [[nodiscard]] virtual int comm_rank(CommHandle comm, int& rank) const = 0;
  [[nodiscard]] virtual int is_intercommunicator(CommHandle comm, bool& inter) const = 0;
  // `within` is false where some ranks are of another MPI_COMM_WORLD (spawned, connected).
  [[nodiscard]] virtual int is_within_world(CommHandle comm, bool& within) const = 0;

  // Collective. Waits until every rank has come, and calls `late` once when that takes longer than
  // `patience`. With an empty `late` it gives up then, and may leave a request pending in the
  // library: the job is to be ended.
  virtual base::Status barrier(CommHandle comm, base::Nanos patience,
                               const std::function<void()>& late = {}) = 0;
  [[noreturn]] virtual void abort(CommHandle comm, int code) = 0;

  // Caches a pointer on a communicator. When the communicator is freed, `on_delete` of AbiOps gets
  // the pointer; it is called from inside MPI and may not call MPI.
  [[nodiscard]] virtual int set_state(CommHandle comm, void* state) = 0;
  virtual void* state(CommHandle comm) = 0;

  // [rank of `comm`] in world(); empty: not known.
  virtual std::vector<std::uint32_t> ranks_in_world(CommHandle) { return {}; }
  // Ranks of world() that the library knows to have died. Any thread, like progress(). The program
  // may have freed other communicators by now, and the library takes a freed one for an error.
  virtual std::vector<std::uint32_t> lost_ranks() { return {}; }

  virtual bool has_topology(CommHandle) { return false; }
  // Collective. Precondition: `comm` has a topology.
  [[nodiscard]] virtual int neighbours(CommHandle comm, Neighbours& found) = 0;

  // Whether a rank has revoked the communicator (ULFM). Precondition: the program has not freed it.
  virtual bool is_revoked(CommHandle) { return false; }

  // Makes `buffer` describe its elements by a type that outlives the user's. True: by a new type,
  // to be released.
  virtual bool hold_type(TypedBuffer& buffer) = 0;
  virtual void release_type(TypeHandle type) = 0;

  // Whether MPI may be called from several threads at once.
  virtual bool threads() const = 0;
  // Whether the program has asked for that. Some libraries allow it to those that have not.
  virtual bool threads_asked_for() const { return threads(); }
  // `life` is that of `comm`; where it has ended, the error handler is gone.
  virtual base::Result<std::unique_ptr<PendingRequest>> make_request(
      CommHandle comm, std::shared_ptr<const CommLife> life) = 0;

  // `on_start` is called after each start that is seen.
  virtual base::Result<std::shared_ptr<PersistentRequest>> make_persistent(
      CommHandle comm, std::shared_ptr<const CommLife> life, std::function<void()> on_start) = 0;

  // Collective over `comm`, from which it splits off a private communicator. `time_scale`: how many
  // times slower than at full speed the network is.
  virtual base::Result<std::unique_ptr<carrier::PointToPoint>> make_point_to_point(
      CommHandle comm, RankName name, double time_scale) = 0;

  // Null: the library cannot be told anything.
  LibraryAlgorithms* algorithms() const { return algorithms_; }

  // The code that raise() returns for such an error, without raising it.
  [[nodiscard]] virtual int error_code(const base::Error& error) = 0;

  // The code of an outcome that is not good, raised on the communicator if it lives.
  int raise_outcome(CommHandle comm, const CommLife& life, const Outcome& outcome) {
    const bool ours = !outcome.failure.message.empty();
    if (life.ended()) return ours ? error_code(outcome.failure) : outcome.code;
    return ours ? raise(comm, outcome.failure) : raise_code(comm, outcome.code);
  }

  // Frees everything that was made inside MPI. Called before PMPI_Finalize.
  virtual void close() = 0;

 protected:
  LibraryAlgorithms* algorithms_ = nullptr;
};

}  // namespace alm::job
