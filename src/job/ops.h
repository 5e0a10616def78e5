// The MPI functions that exchanges need, without <mpi.h>: handles are opaque, so that the code is
// compiled once and serves every MPI ABI. Implemented in mpi/abi/ops.cc. Return values are MPI
// error codes; 0 is success.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "carrier/point_to_point.h"

namespace alm::job {

using CommHandle = std::uintptr_t;
using TypeHandle = std::uintptr_t;
using RequestHandle = std::uintptr_t;

constexpr int kMpiSuccess = 0;

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

// One side of a collective's arguments: `count` elements of `type` for each rank.
struct TypedBuffer {
  void* base = nullptr;
  std::int64_t count = 0;
  TypeHandle type = 0;
  std::int64_t size = 0;    // bytes of data in one element
  std::int64_t extent = 0;  // bytes from one element to the next

  std::uint64_t bytes() const { return static_cast<std::uint64_t>(count * size); }
};

// "rank 3 on h3".
using RankName = std::function<std::string(std::uint32_t rank)>;

class MpiOps {
 public:
  virtual ~MpiOps() = default;

  // Return codes may not be ignored: after a collective that fails on one rank alone, the ranks no
  // longer agree (safe_collectives.h).

  virtual std::string library() const = 0;  // "Open MPI v5.0.8"
  virtual CommHandle world() const = 0;
  [[nodiscard]] virtual int comm_size(CommHandle comm, int& size) const = 0;
  [[nodiscard]] virtual int comm_rank(CommHandle comm, int& rank) const = 0;
  [[nodiscard]] virtual int is_intercommunicator(CommHandle comm, bool& inter) const = 0;
  // `within` is false where some ranks are of another MPI_COMM_WORLD (spawned, connected).
  [[nodiscard]] virtual int is_within_world(CommHandle comm, bool& within) const = 0;

  // Collective over `comm`. Every rank contributes bytes.size() bytes; `all` holds ranks times
  // that.
  [[nodiscard]] virtual int allgather(CommHandle comm, std::span<const std::byte> bytes,
                                      std::span<std::byte> all) = 0;
  // Sends one word to each rank and receives one from each.
  [[nodiscard]] virtual int alltoall(CommHandle comm, std::span<const std::uint64_t> out,
                                     std::span<std::uint64_t> in) = 0;
  // The minimum over all ranks, word by word.
  [[nodiscard]] virtual int allreduce_min(CommHandle comm, std::span<std::uint64_t> values) = 0;
  [[nodiscard]] int allreduce_min(CommHandle comm, std::uint64_t& value) {
    return allreduce_min(comm, std::span(&value, 1));
  }

  [[nodiscard]] int allreduce_max(CommHandle comm, std::span<std::uint64_t> values) {
    for (std::uint64_t& value : values) value = ~value;
    const int code = allreduce_min(comm, values);
    for (std::uint64_t& value : values) value = ~value;
    return code;
  }

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

  // Lets MPI's own traffic proceed; any thread, returns at once (design section 5, Progress).
  virtual void progress() = 0;

  // True when the elements lie back to back in signature order: they can be sent from where they
  // are.
  virtual bool is_contiguous(const TypedBuffer& buffer) = 0;
  // Converts all blocks, `ranks` times `count` elements, to and from the plain byte stream of their
  // signature.
  [[nodiscard]] virtual int pack(const TypedBuffer& buffer, std::uint32_t ranks,
                                 std::byte* out) = 0;
  [[nodiscard]] virtual int unpack(const std::byte* in, std::uint32_t ranks,
                                   const TypedBuffer& buffer) = 0;

  // Makes `buffer` describe its elements by a type that outlives the user's. True: by a new type,
  // to be released.
  virtual bool hold_type(TypedBuffer& buffer) = 0;
  virtual void release_type(TypeHandle type) = 0;

  // Whether MPI may be called from several threads at once.
  virtual bool threads() const = 0;
  // `freed` says whether the user has freed `comm`; its error handler is gone then.
  virtual base::Result<std::unique_ptr<PendingRequest>> make_request(
      CommHandle comm, std::shared_ptr<const std::atomic<bool>> freed) = 0;

  // Collective over `comm`, from which it splits off a private communicator. `time_scale`: how many
  // times slower than at full speed the network is.
  virtual base::Result<std::unique_ptr<carrier::PointToPoint>> make_point_to_point(
      CommHandle comm, RankName name, double time_scale) = 0;

  // Raises an error with this text through the communicator's error handler; returns its code.
  // Callers log the error before: where errors are fatal, the job ends here.
  [[nodiscard]] virtual int raise(CommHandle comm, const base::Error& error) = 0;

  // The code of such an error, without raising it.
  [[nodiscard]] virtual int error_code(const base::Error& error) = 0;

  // raise() for a code that a function above has returned.
  [[nodiscard]] virtual int raise_code(CommHandle comm, int code) = 0;

  // Frees everything that was made inside MPI. Called before PMPI_Finalize.
  virtual void close() = 0;
};

}  // namespace alm::job
