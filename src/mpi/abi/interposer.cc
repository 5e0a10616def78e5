#include "mpi/abi/interposer.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>

#include "job/log.h"
#include "mpi/abi/blocks.h"
#include "mpi/abi/datatype.h"
#include "mpi/abi/handle.h"
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

void settle(const messages::MpiApi& api) {
  const base::Nanos until = io::monotonic_now() + kSettling;
  while (io::monotonic_now() < until) {
    int found = 0;
    api.Iprobe(MPI_ANY_SOURCE, 0, api.comm_self, &found, MPI_STATUS_IGNORE);
    std::this_thread::yield();
  }
}

// By what launchers tell each process. True as well where no launcher says anything.
bool first_of_job() {
  for (const char* name : {"PMIX_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    if (const char* rank = std::getenv(name)) return std::string_view(rank) == "0";
  }
  return true;
}

// Errors of the library's: what is received has nowhere to go, or its request has.
template <class Given>
bool is_nowhere(const Given& given) {
  return given.recv.base == MPI_IN_PLACE || (given.request && *given.request == nullptr);
}

const char* name_of(const entry::Arguments& given) {
  if (given.neighbours) return given.request ? "MPI_Ineighbor_alltoall" : "MPI_Neighbor_alltoall";
  if (given.info) return "MPI_Alltoall_init";
  return given.request ? "MPI_Ialltoall" : "MPI_Alltoall";
}

const char* name_of(const entry::BlockArguments& given) {
  if (given.neighbours && given.request) {
    return given.typed ? "MPI_Ineighbor_alltoallw" : "MPI_Ineighbor_alltoallv";
  }
  if (given.neighbours) return given.typed ? "MPI_Neighbor_alltoallw" : "MPI_Neighbor_alltoallv";
  if (given.info) return given.typed ? "MPI_Alltoallw_init" : "MPI_Alltoallv_init";
  if (given.request) return given.typed ? "MPI_Ialltoallw" : "MPI_Ialltoallv";
  return given.typed ? "MPI_Alltoallw" : "MPI_Alltoallv";
}

// Gives the program the request that a call has made.
std::optional<int> started(std::optional<int> code, job::RequestHandle made, void* request) {
  if (code == MPI_SUCCESS) *static_cast<MPI_Request*>(request) = from_opaque<MPI_Request>(made);
  return code;
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

int Interposer::thread_level(int required) {
  asked_ = required;
  if (!library_->unusable().empty() || session_ != nullptr) return required;
  const auto options = base::load_options();  // what is invalid is reported later
  if (!options || !job::wants_threads(options.value())) return required;
  return std::max<int>(required, MPI_THREAD_MULTIPLE);
}

int Interposer::initialised(int code) {
  if (code != MPI_SUCCESS || inside || std::exchange(initialised_, true)) return code;
  const Inside guard;
  if (!library_->unusable().empty()) {
    job::Log().warning(library_->unusable() + "; every call passes through");
    return code;
  }
  try {
    ops_ = std::make_unique<AbiOps>(
        library_->api(), &session::Session::communicator_freed, [this] { aborting(); },
        asked_ >= MPI_THREAD_MULTIPLE);
    session_ = session::Session::start(*ops_);
  } catch (const std::exception& failure) {
    job::Log().error(std::string("MPI_Init: ") + failure.what());
    aborting();
    library_->api().Abort(library_->api().comm_world, 1);
  }
  return code;
}

void Interposer::at_exit() const {
  if (session_ != nullptr && !finalised_) session_->ends("at the end, without MPI_Finalize");
  int used = 0;
  if (initialised_ || library_->api().Initialized == nullptr || !first_of_job() ||
      library_->api().Initialized(&used) != MPI_SUCCESS || used == 0) {
    return;
  }
  job::Log().warning(
      "nothing was accelerated: this program calls " + library_->path() +
      " past allemande. It takes MPI's functions from that library's own handle (dlopen "
      "and dlsym). Let it look them up among all that is loaded: dlsym(RTLD_DEFAULT), or "
      "ctypes.CDLL(None) in Python");
}

void Interposer::aborting() const {
  if (session_ != nullptr) session_->aborts();
  job::await_forwarding();
}

int Interposer::initialised_by_tool(int code) {
  passed_by_ = !initialised_;
  return initialised(code);
}

void Interposer::finalised_by_tool() {
  if (passed_by_) finalising();
}

void Interposer::passed_by(const char* name, const void* next) {
  if (session_ == nullptr || warned_.exchange(true)) return;
  Dl_info tool{};
  const bool found = dladdr(next, &tool) != 0 && tool.dli_fname != nullptr;
  session_->passed_by(name, found ? tool.dli_fname : "another tool");
}

void Interposer::finalising() {
  if (inside || session_ == nullptr || finalised_.exchange(true)) return;
  const Inside guard;
  session_->finish();
  if (library_->finalises_deaf()) settle(library_->api());
}

void Interposer::freeing(const void* comm) {
  // A communicator of MPI sessions may be freed after MPI_Finalize.
  if (session_ == nullptr || finalised_ || comm == nullptr) return;
  MPI_Comm handle = *static_cast<const MPI_Comm*>(comm);
  if (handle != library_->api().comm_null) session_->forget(to_opaque(handle));
}

const int* Interposer::keep(std::vector<int> values) {
  const std::lock_guard lock(kept_mutex_);
  return kept_.emplace_back(std::move(values)).data();
}

std::optional<courier::AlltoallCall> Interposer::describe_call(
    const entry::Arguments& given) const {
  const auto comm = from_opaque<MPI_Comm>(given.comm);
  if (comm == library_->api().comm_null || is_nowhere(given)) return std::nullopt;
  courier::AlltoallCall call;
  call.comm = to_opaque(comm);
  call.name = name_of(given);
  call.in_place = given.send.base == MPI_IN_PLACE;
  call.persistent = given.info.has_value();
  const auto received = describe_side(given.recv);
  const auto sent = call.in_place ? job::TypedBuffer() : describe_side(given.send);
  if (!received || !sent) return std::nullopt;
  call.recv = *received;
  call.send = *sent;
  return call;
}

std::optional<job::TypedBuffer> Interposer::describe_side(
    const entry::Arguments::Side& side) const {
  const auto& api = library_->api();
  const auto type = from_opaque<MPI_Datatype>(side.type);
  if (side.count < 0 || type == api.datatype_null || !is_usable(ops_->packing(), type)) {
    return std::nullopt;
  }
  job::TypedBuffer buffer;
  if (describe(api, side.base, side.count, type, buffer) != MPI_SUCCESS) return std::nullopt;
  // MPI_BOTTOM is a null pointer as well, but nothing of a predefined type lies there.
  if (side.base == nullptr && buffer.bytes() > 0 && is_named(api, type)) {
    return std::nullopt;
  }
  return buffer;
}

std::optional<Interposer::Blocks> Interposer::describe_call(
    const entry::BlockArguments& given) const {
  const auto& send = given.send;
  const auto comm = from_opaque<MPI_Comm>(given.comm);
  if (comm == library_->api().comm_null || is_nowhere(given)) return std::nullopt;
  bool inter = false;
  int ranks = 0;
  if (ops_->is_intercommunicator(to_opaque(comm), inter) != MPI_SUCCESS) return std::nullopt;
  Blocks blocks;
  blocks.call.name = name_of(given);
  blocks.call.comm = to_opaque(comm);
  blocks.call.persistent = given.info.has_value();
  // The session passes it through and counts it; its blocks are those of the remote group.
  if (inter) return blocks;
  if (ops_->comm_size(to_opaque(comm), ranks) != MPI_SUCCESS) return std::nullopt;
  blocks.call.in_place = send.base == MPI_IN_PLACE;
  const auto size = static_cast<std::size_t>(ranks);
  auto received = describe_blocks(ops_->packing(), given.recv, given.typed, size);
  if (!received) return std::nullopt;
  blocks.recv = *std::move(received);
  if (!blocks.call.in_place) {
    auto sent = describe_blocks(ops_->packing(), send, given.typed, size);
    if (!sent) return std::nullopt;
    blocks.send = *std::move(sent);
  }
  blocks.call.recv = blocks.recv;
  blocks.call.send = blocks.call.in_place ? blocks.recv : blocks.send;
  return blocks;
}

// The blocks of one side lie one after the other.
std::optional<Interposer::NeighbourBlocks> Interposer::describe_neighbours(
    const entry::Arguments& given) const {
  const auto degrees = degrees_of_call(given);
  if (!degrees) return std::nullopt;
  // Where there are none, programs give what they like.
  const auto lay = [&](const entry::Arguments::Side& side,
                       std::size_t blocks) -> std::optional<std::vector<job::TypedBuffer>> {
    if (blocks == 0) return std::vector<job::TypedBuffer>();
    const auto first = describe_side(side);
    return first ? std::optional(job::in_a_row(*first, blocks)) : std::nullopt;
  };
  auto sent = lay(given.send, degrees->out);
  auto received = lay(given.recv, degrees->in);
  if (!sent || !received) return std::nullopt;
  NeighbourBlocks blocks{*std::move(sent), *std::move(received), {}};
  blocks.call.one_size = true;
  return name(given, std::move(blocks));
}

std::optional<Interposer::NeighbourBlocks> Interposer::describe_neighbours(
    const entry::BlockArguments& given) const {
  const auto degrees = degrees_of_call(given);
  if (!degrees) return std::nullopt;
  const Packing packing = ops_->packing();
  auto sent = describe_blocks(packing, given.send, given.typed, degrees->out);
  auto received = describe_blocks(packing, given.recv, given.typed, degrees->in);
  if (!sent || !received) return std::nullopt;
  return name(given, {*std::move(sent), *std::move(received), {}});
}

template <class Given>
Interposer::NeighbourBlocks Interposer::name(const Given& given, NeighbourBlocks blocks) {
  blocks.call.name = name_of(given);
  blocks.call.comm = to_opaque(from_opaque<MPI_Comm>(given.comm));
  blocks.call.send = blocks.send;
  blocks.call.recv = blocks.recv;
  return blocks;
}

template <class Given>
std::optional<Degrees> Interposer::degrees_of_call(const Given& given) const {
  const auto comm = from_opaque<MPI_Comm>(given.comm);
  if (comm == library_->api().comm_null || is_nowhere(given)) return std::nullopt;
  if (given.send.base == MPI_IN_PLACE) return std::nullopt;
  return degrees_of(library_->api(), comm);
}

int Interposer::raise(job::CommHandle comm, const char* function,
                      const std::exception& failure) const {
  const std::string text = std::string(function) + ": " + failure.what();
  job::Log().error(text);
  return ops_->raise(comm, base::io_error("allemande: " + text));
}

std::uint64_t Interposer::bytes_of(std::int64_t count, std::uintptr_t word) const {
  const auto type = from_opaque<MPI_Datatype>(word);
  MPI_Count size = 0;
  if (count <= 0 || type == library_->api().datatype_null) return 0;
  if (library_->api().Type_size_x(type, &size) != MPI_SUCCESS || size < 0) return 0;
  return static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(size);
}

std::uint64_t Interposer::bytes_of(const entry::Arguments& given) const {
  return bytes_of(given.recv.count, given.recv.type);
}

std::uint64_t Interposer::bytes_of(const entry::BlockArguments& given) const {
  const auto& recv = given.recv;
  const job::CommHandle comm = to_opaque(from_opaque<MPI_Comm>(given.comm));
  bool inter = false;
  int ranks = 0;
  std::size_t blocks = 0;
  if (given.neighbours) {
    if (const auto degrees = degrees_of_call(given)) blocks = degrees->in;
  } else if (ops_->is_intercommunicator(comm, inter) == MPI_SUCCESS && !inter &&
             ops_->comm_size(comm, ranks) == MPI_SUCCESS) {
    blocks = static_cast<std::size_t>(ranks);
  }
  if (blocks == 0) return 0;
  std::uint64_t bytes = 0;
  std::int64_t count = 0;
  for (std::size_t i = 0; i < blocks; ++i) {
    if (given.typed) {
      bytes +=
          bytes_of(recv.counts[i], to_opaque(reinterpret_cast<const MPI_Datatype*>(recv.types)[i]));
    } else {
      count += recv.counts[i];
    }
  }
  if (!given.typed) bytes = bytes_of(count, recv.types);
  return bytes / blocks;
}

template <class Given>
std::optional<int> Interposer::alltoall(const Given& given, const entry::Native& native) {
  if (inside || session_ == nullptr) return std::nullopt;
  tally::Tally& tally = session_->tally();
  if (!tally.counts()) return accelerate(given, native, nullptr);
  tally::Taken taken;
  const base::Nanos begin = io::monotonic_now();
  std::optional<int> code = accelerate(given, native, &taken);
  if (!code) code = native(given.comm);
  const base::Nanos end = io::monotonic_now();
  if (code == MPI_SUCCESS) {  // else its arguments may not be valid
    tally.note(tally::function_of(name_of(given)), bytes_of(given), taken, end - begin);
    session_->counted(end);
  }
  return code;
}

template <class Given>
int Interposer::passed(const Given& given, int code) {
  if (code != MPI_SUCCESS || inside || session_ == nullptr || !session_->tally().counts()) {
    return code;
  }
  const PassedRequests::Call call{tally::function_of(name_of(given)), bytes_of(given)};
  if (given.info) {  // each start counts
    passed_.add(to_opaque(*static_cast<const MPI_Request*>(*given.request)), call);
  } else {
    session_->note_passed(call.function, call.bytes);
  }
  return code;
}

template int Interposer::passed(const entry::Arguments&, int);
template int Interposer::passed(const entry::BlockArguments&, int);

template std::optional<int> Interposer::alltoall(const entry::Arguments&, const entry::Native&);
template std::optional<int> Interposer::alltoall(const entry::BlockArguments&,
                                                 const entry::Native&);

template <class Given>
std::optional<int> Interposer::accelerate(const Given& given, const entry::Native& native,
                                          tally::Taken* taken) {
  if (!session_->accelerating()) {
    session_->refuse(taken);
    return std::nullopt;
  }
  const Inside guard;
  const auto carry = [&](auto& call, auto exchange) -> std::optional<int> {
    call.native = [&] { return native(given.comm); };
    call.taken = taken;
    return (session_.get()->*exchange)(call);
  };
  try {
    if (given.neighbours) {
      auto blocks = describe_neighbours(given);
      if (!blocks) return std::nullopt;
      return carry(blocks->call, &session::Session::alltoall_neighbours);
    }
    auto described = describe_call(given);
    if (!described) return std::nullopt;
    if constexpr (std::is_same_v<Given, entry::Arguments>) {
      described->native_on = native;  // handles are words
      return carry(*described, &session::Session::alltoall);
    } else {
      return carry(described->call, &session::Session::alltoall_blocks);
    }
  } catch (const std::exception& failure) {
    return raise(to_opaque(from_opaque<MPI_Comm>(given.comm)), name_of(given), failure);
  }
}

template <class Given>
std::optional<int> Interposer::ialltoall(const Given& given) {
  if (inside || session_ == nullptr || !session_->starting()) return std::nullopt;
  const Inside guard;
  job::RequestHandle made{};
  std::optional<int> code;
  try {
    if (given.neighbours) {
      const auto blocks = describe_neighbours(given);
      if (blocks) code = session_->start_neighbours(blocks->call, made);
    } else if (const auto described = describe_call(given)) {
      if constexpr (std::is_same_v<Given, entry::Arguments>) {
        code = session_->start(*described, made);
      } else {
        code = session_->start_blocks(described->call, made);
      }
    }
    return started(code, made, *given.request);
  } catch (const std::exception& failure) {
    return raise(to_opaque(from_opaque<MPI_Comm>(given.comm)), name_of(given), failure);
  }
}

template std::optional<int> Interposer::ialltoall(const entry::Arguments&);
template std::optional<int> Interposer::ialltoall(const entry::BlockArguments&);

}  // namespace alm::mpi
