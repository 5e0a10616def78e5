#include "mpi/abi/ops.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "job/gather_by_minimum.h"
#include "mpi/abi/generalized_request.h"
#include "mpi/abi/handle.h"
#include "mpi/abi/neighbours.h"
#include "transport/io/endpoint.h"

namespace alm::mpi {
namespace {

constexpr std::chrono::microseconds kPoll{200};
constexpr base::Nanos kSpin = 10 * base::kMillisecond;
// A rank may hear that others have given up before it hears that they were told to.
constexpr base::Nanos kRevocationPatience = base::kSecond;

// 31 connections that are opened at once lose packets of their handshakes, and wait a second. So up
// to so many bytes travel with a few partners.
[[maybe_unused]] constexpr std::size_t kByMinimum = 1u << 20;

MPI_Comm comm_of(job::CommHandle comm) { return from_opaque<MPI_Comm>(comm); }

// What MPI_COMM_NULL_COPY_FN does; that one is a symbol of the library. A duplicate of a
// communicator is another communicator: it gets a state of its own when it is used.
int copy_no_state(MPI_Comm, int, void*, void*, void*, int* flag) {
  *flag = 0;
  return MPI_SUCCESS;
}

using OnDelete = void (*)(void*);

int deleted(MPI_Comm, int, void* state, void* on_delete) {
  reinterpret_cast<OnDelete>(on_delete)(state);
  return MPI_SUCCESS;
}

// The classes of processes that have failed and of communicators that are revoked (ULFM), as binary
// interfaces have them: headers of releases without them must do. Open MPI from 5.0, MPICH
// from 3.2.
#if defined(OPEN_MPI)
constexpr int kProcFailed = 75;
constexpr int kRevoked = 77;
#elif defined(MPI_ABI)
constexpr int kProcFailed = MPI_ERR_OTHER;
constexpr int kRevoked = MPI_ERR_OTHER;
#else
constexpr int kProcFailed = 101;
constexpr int kRevoked = 103;
#endif

// Open MPI alone: MPICH has the function, and never names a rank that has died (5.0.2).
bool tells_of_deaths([[maybe_unused]] const messages::MpiApi& api) {
#if defined(OPEN_MPI)
  return api.Comm_get_failed != nullptr;
#else
  return false;
#endif
}

// The standard's class: two ranks that do not agree on a size are what it calls truncation.
int class_of(base::ErrorCode code, bool has_ulfm) {
  if (code == base::ErrorCode::kBadInput) return MPI_ERR_TRUNCATE;
  return code == base::ErrorCode::kPeerLost && has_ulfm ? kProcFailed : MPI_ERR_OTHER;
}

// The ranks of `group`, which is freed, in MPI_COMM_WORLD.
int translate(const messages::MpiApi& api, MPI_Group group, std::vector<int>& in_world) {
  int count = 0;
  MPI_Group world_group{};
  api.Group_size(group, &count);
  api.Comm_group(api.comm_world, &world_group);
  std::vector<int> here(static_cast<std::size_t>(count));
  in_world.resize(here.size());
  std::iota(here.begin(), here.end(), 0);
  const int code =
      api.Group_translate_ranks(group, count, here.data(), world_group, in_world.data());
  api.Group_free(&group);
  api.Group_free(&world_group);
  return code;
}

}  // namespace

AbiOps::AbiOps(const messages::MpiApi& api, void (*on_delete)(void* state),
               std::function<void()> before_abort, bool threads_asked_for)
    : api_(api),
      before_abort_(std::move(before_abort)),
      threads_asked_for_(threads_asked_for),
      type_keyval_(make_type_keyval(api)),
      persistent_(api, *this, sleepers_, private_self_),
      variables_(api, *this) {
  algorithms_ = &variables_;
  api_.Comm_create_keyval(copy_no_state, deleted, &keyval_, reinterpret_cast<void*>(on_delete));
  api_.Comm_dup(api_.comm_self, &private_self_);
  api_.Comm_set_errhandler(private_self_, api_.errors_return);
  api_.Irecv(&never_byte_, 1, api_.byte, 0, 0, private_self_, &never_);
}

// The first clause of what it says about itself, blanks squeezed.
std::string AbiOps::library() const {
  std::string text(MPI_MAX_LIBRARY_VERSION_STRING, '\0');
  int length = 0;
  if (api_.Get_library_version(text.data(), &length) != MPI_SUCCESS) return "unknown";
  text.resize(std::min(text.find_first_of(",\n"), static_cast<std::size_t>(length)));
  std::replace(text.begin(), text.end(), '\t', ' ');
  text.erase(
      std::unique(text.begin(), text.end(), [](char a, char b) { return a == ' ' && b == ' '; }),
      text.end());
  return text.empty() ? "unknown" : text;
}

job::CommHandle AbiOps::world() const { return to_opaque(api_.comm_world); }

int AbiOps::comm_size(job::CommHandle comm, int& size) const {
  return api_.Comm_size(comm_of(comm), &size);
}

int AbiOps::comm_rank(job::CommHandle comm, int& rank) const {
  return api_.Comm_rank(comm_of(comm), &rank);
}

int AbiOps::is_intercommunicator(job::CommHandle comm, bool& inter) const {
  int flag = 0;
  const int code = api_.Comm_test_inter(comm_of(comm), &flag);
  inter = flag != 0;
  return code;
}

int AbiOps::is_within_world(job::CommHandle comm, bool& within) const {
  MPI_Group group{};
  if (const int code = api_.Comm_group(comm_of(comm), &group); code != MPI_SUCCESS) return code;
  std::vector<int> ranks;
  const int code = translate(api_, group, ranks);
  within = std::find(ranks.begin(), ranks.end(), MPI_UNDEFINED) == ranks.end();
  return code;
}

int AbiOps::allgather(job::CommHandle comm, std::span<const std::byte> bytes,
                      std::span<std::byte> all) {
#if defined(OPEN_MPI)
  int self = 0;
  if (const int code = comm_rank(comm, self); code != job::kMpiSuccess) return code;
  if (all.size() <= kByMinimum) return job::gather_by_minimum(*this, comm, self, bytes, all);
#endif
  const auto count = static_cast<int>(bytes.size());
  MPI_Request request = api_.request_null;
  const int code = api_.Iallgather(bytes.data(), count, api_.byte, all.data(), count, api_.byte,
                                   comm_of(comm), &request);
  return code == MPI_SUCCESS ? complete(request) : code;
}

int AbiOps::alltoall(job::CommHandle comm, std::span<const std::uint64_t> out,
                     std::span<std::uint64_t> in) {
  MPI_Request request = api_.request_null;
  const int code = api_.Ialltoall(out.data(), 1, api_.uint64, in.data(), 1, api_.uint64,
                                  comm_of(comm), &request);
  return code == MPI_SUCCESS ? complete(request) : code;
}

// MPICH 4.0 compares MPI_UINT64_T as if it had a sign. So the words travel as MPI_INT64_T, of which
// all libraries know that it has one, with their highest bit changed: the order is the same.
int AbiOps::allreduce_min(job::CommHandle comm, std::span<std::uint64_t> values) {
  constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
  for (std::uint64_t& value : values) value ^= kSign;
  const std::vector<std::uint64_t> mine(values.begin(), values.end());
  MPI_Request request = api_.request_null;
  int code = api_.Iallreduce(mine.data(), values.data(), static_cast<int>(mine.size()), api_.int64,
                             api_.min, comm_of(comm), &request);
  if (code == MPI_SUCCESS) code = complete(request);
  for (std::uint64_t& value : values) value ^= kSign;
  return code;
}

base::Status AbiOps::barrier(job::CommHandle comm, base::Nanos patience,
                             const std::function<void()>& late) {
  MPI_Request request = api_.request_null;
  if (api_.Ibarrier(comm_of(comm), &request) != MPI_SUCCESS) {
    return base::io_error("MPI_Ibarrier failed");
  }
  auto code = poll(request, io::monotonic_now() + patience);
  if (!code) {
    if (!late) return base::Error{base::ErrorCode::kTimeout, "not every rank has come"};
    late();
    code = complete(request);
  }
  return *code == MPI_SUCCESS ? base::Status{} : base::io_error("MPI_Test failed");
}

// The library's blocking calls spin, yielding at best, and where there are more ranks than
// processors they spin in the way of the ranks they wait for. So does what follows without
// yielding, as MPICH's MPI_Test: 16 ranks a processor took 80 ms for what takes them 10.
std::optional<int> AbiOps::poll(MPI_Request& request, base::Nanos limit) {
  const base::Nanos begin = io::monotonic_now();
  for (base::Nanos now = begin;; now = io::monotonic_now()) {
    int done = 0;
    const int code = api_.Test(&request, &done, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS || done != 0) return code;
    if (now >= limit) return std::nullopt;
    if (now - begin > kSpin) {
      std::this_thread::sleep_for(kPoll);
    } else {
      std::this_thread::yield();
    }
  }
}

int AbiOps::complete(MPI_Request& request) { return poll(request, base::kNever).value(); }

void AbiOps::abort(job::CommHandle comm, int code) {
  before_abort_();
  api_.Abort(comm_of(comm), code);
  std::_Exit(code);
}

int AbiOps::set_state(job::CommHandle comm, void* state) {
  return api_.Comm_set_attr(comm_of(comm), keyval_, state);
}

void* AbiOps::state(job::CommHandle comm) {
  void* value = nullptr;
  int found = 0;
  api_.Comm_get_attr(comm_of(comm), keyval_, &value, &found);
  return found != 0 ? value : nullptr;
}

void AbiOps::progress() {
  const std::unique_lock lock(progress_mutex_, std::try_to_lock);
  if (!lock) return;  // another thread is at it
  int done = 0;
  api_.Test(&never_, &done, MPI_STATUS_IGNORE);
  if (!unended_.empty()) unended_.sweep();
}

std::vector<std::uint32_t> AbiOps::ranks_in_world(job::CommHandle comm) {
  MPI_Group group{};
  std::vector<int> ranks;
  if (!tells_of_deaths(api_) || api_.Comm_group(comm_of(comm), &group) != MPI_SUCCESS) return {};
  if (translate(api_, group, ranks) != MPI_SUCCESS) return {};
  return {ranks.begin(), ranks.end()};
}

std::vector<std::uint32_t> AbiOps::lost_ranks() {
  const std::unique_lock lock(progress_mutex_, std::try_to_lock);
  MPI_Group failed{};
  std::vector<int> ranks;
  if (!lock || !tells_of_deaths(api_)) return {};
  if (api_.Comm_get_failed(api_.comm_world, &failed) != MPI_SUCCESS) return {};
  if (translate(api_, failed, ranks) != MPI_SUCCESS) return {};
  return {ranks.begin(), ranks.end()};
}

bool AbiOps::is_contiguous(const job::TypedBuffer& buffer) {
  return mpi::is_contiguous(packing(), buffer);
}

int AbiOps::pack(const job::TypedBuffer& buffer, std::uint32_t ranks, std::byte* out) {
  return mpi::pack(packing(), buffer, ranks, out);
}

int AbiOps::unpack(const std::byte* in, std::uint32_t ranks, const job::TypedBuffer& buffer) {
  return mpi::unpack(packing(), in, ranks, buffer);
}

bool AbiOps::is_revoked(job::CommHandle comm) {
  int revoked = 0;
  return api_.Comm_is_revoked != nullptr &&
         api_.Comm_is_revoked(comm_of(comm), &revoked) == MPI_SUCCESS && revoked != 0;
}

bool AbiOps::has_topology(job::CommHandle comm) {
  return degrees_of(api_, comm_of(comm)).has_value();
}

int AbiOps::neighbours(job::CommHandle comm, job::Neighbours& found) {
  return find_neighbours(api_, comm_of(comm), found);
}

bool AbiOps::hold_type(job::TypedBuffer& buffer) { return mpi::hold_type(packing(), buffer); }

void AbiOps::release_type(job::TypeHandle type) {
  auto handle = from_opaque<MPI_Datatype>(type);
  api_.Type_free(&handle);
}

bool AbiOps::threads() const {
  int provided = MPI_THREAD_SINGLE;
  return api_.Query_thread(&provided) == MPI_SUCCESS && provided >= MPI_THREAD_MULTIPLE;
}

base::Result<std::unique_ptr<job::PendingRequest>> AbiOps::make_request(
    job::CommHandle comm, std::shared_ptr<const job::CommLife> life) {
  return GeneralizedRequest::start(api_, *this, sleepers_, comm, std::move(life));
}

base::Result<std::shared_ptr<job::PersistentRequest>> AbiOps::make_persistent(
    job::CommHandle comm, std::shared_ptr<const job::CommLife> life,
    std::function<void()> on_start) {
  return persistent_.make(comm, std::move(life), std::move(on_start));
}

base::Result<std::unique_ptr<carrier::PointToPoint>> AbiOps::make_point_to_point(
    job::CommHandle comm, job::RankName name, double time_scale) {
  int size = 0;
  int rank = 0;
  MPI_Comm split = api_.comm_null;
  api_.Comm_size(comm_of(comm), &size);
  api_.Comm_rank(comm_of(comm), &rank);
  if (api_.Comm_split(comm_of(comm), 0, rank, &split) != MPI_SUCCESS) {
    return base::io_error("MPI_Comm_split failed: no private communicator");
  }
  api_.Comm_set_errhandler(split, api_.errors_return);
  messages::P2pOptions options;
  options.slow_down(time_scale);
  return std::unique_ptr<carrier::PointToPoint>(
      std::make_unique<Messages>(api_, unended_, split, static_cast<std::uint32_t>(size),
                                 static_cast<std::uint32_t>(rank), std::move(name), options));
}

int AbiOps::raise(job::CommHandle comm, const base::Error& error) {
  // A communicator that has failed raises the same in every later call, which need not wait again.
  const auto is_news = [&] {
    const std::lock_guard lock(error_mutex_);
    return std::exchange(raised_[comm], error.message) != error.message;
  };
  const bool fatal = errors_are_fatal(comm);  // then nobody asks which class it is
  const bool may_be = error.code != base::ErrorCode::kBadInput && !fatal &&
                      api_.Comm_is_revoked != nullptr && is_news();
  const base::Nanos limit = io::monotonic_now() + (may_be ? kRevocationPatience : 0);
  bool revoked = is_revoked(comm);
  while (!revoked && io::monotonic_now() < limit) {
    progress();
    std::this_thread::sleep_for(kPoll);
    revoked = is_revoked(comm);
  }
  const int code = revoked ? error_code(kRevoked, error.message) : error_code(error);
  // Called from outside, MPICH's fatal handler ends this process alone (5.0.2), and others hang.
  if (fatal) abort(comm, 1);
  return raise_code(comm, code);
}

// Libraries have room for some thousand codes: the same text has the same.
int AbiOps::error_code(const base::Error& error) {
  return error_code(class_of(error.code, api_.Comm_get_failed != nullptr), error.message);
}

int AbiOps::error_code(int error_class, const std::string& message) {
  const std::lock_guard lock(error_mutex_);
  const std::string text = message.substr(0, MPI_MAX_ERROR_STRING - 1);
  const auto [place, made] = error_codes_.try_emplace({error_class, text}, MPI_ERR_OTHER);
  if (made) place->second = make_error_code(error_class, text);
  return place->second;
}

int AbiOps::make_error_code(int error_class, const std::string& text) {
  int code = MPI_ERR_OTHER;
  if (api_.Add_error_code(error_class, &code) != MPI_SUCCESS) return MPI_ERR_OTHER;
  api_.Add_error_string(code, text.c_str());
  std::string told(MPI_MAX_ERROR_STRING, '\0');
  int length = 0;
  if (api_.Error_string(code, told.data(), &length) == MPI_SUCCESS &&
      told.compare(0, static_cast<std::size_t>(length), text) == 0) {
    return code;
  }
  // MPICH 4.0 keeps no texts in the standard's classes; what they say matters more. Not where
  // programs go by the class.
  if (error_class == error_class_ || error_class == kProcFailed || error_class == kRevoked) {
    return code;
  }
  if (error_class_ < 0) api_.Add_error_class(&error_class_);
  return make_error_code(error_class_, text);
}

bool AbiOps::errors_are_fatal(job::CommHandle comm) {
  MPI_Errhandler handler{};
  if (api_.Comm_get_errhandler(comm_of(comm), &handler) != MPI_SUCCESS) return false;
  if (handler == api_.errors_are_fatal) return true;
  // Not all libraries let go of their own.
  if (handler != api_.errors_return) api_.Errhandler_free(&handler);
  return false;
}

int AbiOps::raise_code(job::CommHandle comm, int code) {
  api_.Comm_call_errhandler(comm_of(comm), code);
  return code;
}

void AbiOps::close() {
  const std::lock_guard lock(progress_mutex_);
  unended_.sweep();
  variables_.close();
  api_.Cancel(&never_);
  api_.Wait(&never_, MPI_STATUS_IGNORE);
  api_.Comm_free(&private_self_);
  api_.Comm_free_keyval(&keyval_);
  if (type_keyval_ != MPI_KEYVAL_INVALID) api_.Type_free_keyval(&type_keyval_);
}

}  // namespace alm::mpi
