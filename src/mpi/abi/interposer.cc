#include "mpi/abi/interposer.h"

#include <atomic>
#include <exception>
#include <string>
#include <thread>

#include "mpi/abi/blocks.h"
#include "mpi/abi/datatype.h"
#include "mpi/abi/handle.h"
#include "mpi/log.h"
#include "transport/io/endpoint.h"

namespace alm::mpi {
namespace {

// What this thread calls while it is inside here is MPI's own business.
thread_local bool inside = false;

class Inside {
 public:
  Inside() { inside = true; }
  ~Inside() { inside = false; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
};

// What finish() exchanged over MPI may have begun connections that are still being made.
constexpr base::Nanos kSettling = 200 * base::kMillisecond;

void settle(const io::MpiApi& api) {
  const base::Nanos until = io::monotonic_now() + kSettling;
  while (io::monotonic_now() < until) {
    int found = 0;
    api.Iprobe(MPI_ANY_SOURCE, 0, api.comm_self, &found, MPI_STATUS_IGNORE);
    std::this_thread::yield();
  }
}

}  // namespace

Interposer* Interposer::get() {
  static std::atomic<Interposer*> instance{nullptr};
  static std::mutex mutex;
  if (auto* found = instance.load(std::memory_order_acquire)) return found;
  const std::lock_guard lock(mutex);
  if (instance.load(std::memory_order_relaxed) == nullptr) {
    if (auto library = Library::find()) instance.store(new Interposer(std::move(library)));
  }
  return instance.load();
}

int Interposer::initialised(int code) {
  if (code != MPI_SUCCESS || inside || session_ != nullptr) return code;
  const Inside guard;
  if (!library_->unusable().empty()) {
    Log().warning(library_->unusable() + "; every call passes through");
    return code;
  }
  try {
    ops_ = std::make_unique<AbiOps>(library_->api(), &Session::communicator_freed);
    session_ = Session::start(*ops_);
  } catch (const std::exception& failure) {
    Log().error(std::string("MPI_Init: ") + failure.what());
    library_->api().Abort(library_->api().comm_world, 1);
  }
  return code;
}

void Interposer::finalising() {
  if (inside || session_ == nullptr) return;
  const Inside guard;
  session_->finish();
  if (library_->finalises_deaf()) settle(library_->api());
}

std::optional<int> Interposer::alltoall(const void* send, std::int64_t send_count,
                                        std::uintptr_t send_word, void* recv,
                                        std::int64_t recv_count, std::uintptr_t recv_word,
                                        std::uintptr_t comm_word,
                                        const std::function<int()>& native) {
  if (inside || session_ == nullptr || !session_->accelerating()) return std::nullopt;
  const auto& api = library_->api();
  const auto send_type = from_opaque<MPI_Datatype>(send_word);
  const auto recv_type = from_opaque<MPI_Datatype>(recv_word);
  const auto comm = from_opaque<MPI_Comm>(comm_word);
  if (comm == api.comm_null) return std::nullopt;
  AlltoallCall call;
  call.comm = to_opaque(comm);
  call.in_place = send == MPI_IN_PLACE;
  call.native = native;
  // What is invalid is left to the library to report.
  if (recv_count < 0 || recv_type == api.datatype_null) return std::nullopt;
  if (!call.in_place && (send_count < 0 || send_type == api.datatype_null)) return std::nullopt;

  const Inside guard;
  const Packing packing = ops_->packing();
  if (!is_usable(packing, recv_type) || !(call.in_place || is_usable(packing, send_type))) {
    return std::nullopt;
  }
  if (describe(api, recv, recv_count, recv_type, call.recv) != MPI_SUCCESS) return std::nullopt;
  if (!call.in_place && describe(api, send, send_count, send_type, call.send) != MPI_SUCCESS) {
    return std::nullopt;
  }
  try {
    return session_->alltoall(call);
  } catch (const std::exception& failure) {
    return ops_->raise(call.comm, std::string("allemande: MPI_Alltoall: ") + failure.what());
  }
}

std::optional<int> Interposer::alltoall_blocks(const char* function,
                                               const entry::BlockArguments& send,
                                               const entry::BlockArguments& recv,
                                               std::uintptr_t comm_word) {
  if (inside || session_ == nullptr || !session_->accelerating()) return std::nullopt;
  const auto comm = from_opaque<MPI_Comm>(comm_word);
  if (comm == library_->api().comm_null) return std::nullopt;
  const Inside guard;
  bool inter = false;
  int ranks = 0;
  if (ops_->is_intercommunicator(to_opaque(comm), inter) != MPI_SUCCESS || inter) {
    return std::nullopt;
  }
  if (ops_->comm_size(to_opaque(comm), ranks) != MPI_SUCCESS) return std::nullopt;

  BlockCall call;
  call.name = function;
  call.comm = to_opaque(comm);
  call.in_place = send.base == MPI_IN_PLACE;
  try {
    const auto received = describe_blocks(ops_->packing(), recv, static_cast<std::size_t>(ranks));
    if (!received) return std::nullopt;
    call.send = call.recv = *received;
    if (call.in_place) return session_->alltoall_blocks(call);
    const auto sent = describe_blocks(ops_->packing(), send, static_cast<std::size_t>(ranks));
    if (!sent) return std::nullopt;
    call.send = *sent;
    return session_->alltoall_blocks(call);
  } catch (const std::exception& failure) {
    return ops_->raise(call.comm, std::string("allemande: ") + function + ": " + failure.what());
  }
}

}  // namespace alm::mpi
