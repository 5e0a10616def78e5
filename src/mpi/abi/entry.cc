#include "mpi/abi/entry.h"

#include <cstdio>
#include <cstdlib>

#include "mpi/abi/interposer.h"
#include "mpi/abi/large_counts.h"
#include "mpi/abi/words.h"

namespace alm::mpi::entry {

Interposer& interposer() {
  if (auto* found = Interposer::get()) return *found;
  std::fputs(
      "allemande: error: MPI is called, but no MPI library is loaded that allemande knows "
      "(libmpi.so.40, libmpi.so.12, libmpich.so.12, libmpi_abi.so.1)\n",
      stderr);
  std::abort();
}

namespace {

thread_local std::uint64_t come = 0;

// The MPI library's own, at the width of the counts.
template <class Count>
int native_alltoall(const void* send, Count send_count, Word send_type, void* recv,
                    Count recv_count, Word recv_type, Word comm) {
  const auto& api = interposer().library().api();
  auto* real = with_words<Alltoall<Count>>(api.Alltoall);
#if MPI_VERSION >= 4
  if constexpr (sizeof(Count) == sizeof(std::int64_t)) {
    real = with_words<Alltoall<Count>>(api.Alltoall_c);
    if (real == nullptr) {
      return large_counts::alltoall(api, send, send_count, send_type, recv, recv_count, recv_type,
                                    comm);
    }
  }
#endif
  return real(send, send_count, send_type, recv, recv_count, recv_type, comm);
}

template <class Integer>
int native_alltoallv(const void* send, const Integer* send_counts, const Integer* send_at,
                     Word send_type, void* recv, const Integer* recv_counts, const Integer* recv_at,
                     Word recv_type, Word comm) {
  const auto& api = interposer().library().api();
  auto* real = with_words<Alltoallv<Integer>>(api.Alltoallv);
#if MPI_VERSION >= 4
  if constexpr (sizeof(Integer) == sizeof(std::int64_t)) {
    real = with_words<Alltoallv<Integer>>(api.Alltoallv_c);
    if (real == nullptr) {
      return large_counts::alltoallv(api, send, send_counts, send_at, send_type, recv, recv_counts,
                                     recv_at, recv_type, comm);
    }
  }
#endif
  return real(send, send_counts, send_at, send_type, recv, recv_counts, recv_at, recv_type, comm);
}

template <class Integer>
int native_alltoallw(const void* send, const Integer* send_counts, const Integer* send_at,
                     const void* send_types, void* recv, const Integer* recv_counts,
                     const Integer* recv_at, const void* recv_types, Word comm) {
  const auto& api = interposer().library().api();
  auto* real = with_words<Alltoallw<Integer>>(api.Alltoallw);
#if MPI_VERSION >= 4
  if constexpr (sizeof(Integer) == sizeof(std::int64_t)) {
    real = with_words<Alltoallw<Integer>>(api.Alltoallw_c);
    if (real == nullptr) {
      return large_counts::alltoallw(api, send, send_counts, send_at, send_types, recv, recv_counts,
                                     recv_at, recv_types, comm);
    }
  }
#endif
  return real(send, send_counts, send_at, send_types, recv, recv_counts, recv_at, recv_types, comm);
}

template <class Native>
int accelerate_or_pass(const void* caller, const char* name, const BlockArguments& send,
                       const BlockArguments& recv, Word comm, Native native) {
  ++come;
  auto& self = interposer();
  if (!self.library().contains(caller)) {
    if (const auto code = self.alltoall_blocks(name, send, recv, comm, native)) return *code;
  }
  return native();
}

template <class Count>
int accelerate_or_pass(const void* caller, const void* send, Count send_count, Word send_type,
                       void* recv, Count recv_count, Word recv_type, Word comm) {
  ++come;
  auto& self = interposer();
  const auto native = [&] {
    return native_alltoall(send, send_count, send_type, recv, recv_count, recv_type, comm);
  };
  if (!self.library().contains(caller)) {
    const auto code =
        self.alltoall(send, send_count, send_type, recv, recv_count, recv_type, comm, native);
    if (code) return *code;
  }
  return native();
}

}  // namespace

int init(int* argc, char*** argv) {
  auto& self = interposer();
  const auto& api = self.library().api();
  const int level = self.thread_level(MPI_THREAD_SINGLE);
  if (level == MPI_THREAD_SINGLE) return self.initialised(api.Init(argc, argv));
  int provided = level;
  return self.initialised(api.Init_thread(argc, argv, level, &provided));
}

int init_thread(int* argc, char*** argv, int required, int* provided) {
  auto& self = interposer();
  const int level = self.thread_level(required);
  return self.initialised(self.library().api().Init_thread(argc, argv, level, provided));
}

int finalize() {
  auto& self = interposer();
  self.finalising();
  return self.library().api().Finalize();
}

int abort(Word comm, int code) {
  auto& self = interposer();
  self.aborting();
  return with_words<int(Word, int)>(self.library().api().Abort)(comm, code);
}

int alltoall(const void* caller, const void* send, int send_count, Word send_type, void* recv,
             int recv_count, Word recv_type, Word comm) {
  return accelerate_or_pass(caller, send, send_count, send_type, recv, recv_count, recv_type, comm);
}

#if MPI_VERSION >= 4
int alltoall_c(const void* caller, const void* send, std::int64_t send_count, Word send_type,
               void* recv, std::int64_t recv_count, Word recv_type, Word comm) {
  return accelerate_or_pass(caller, send, send_count, send_type, recv, recv_count, recv_type, comm);
}
#endif

template <class Integer>
int alltoallv(const void* caller, const void* send, const Integer* send_counts,
              const Integer* send_at, Word send_type, void* recv, const Integer* recv_counts,
              const Integer* recv_at, Word recv_type, Word comm) {
  return accelerate_or_pass(
      caller, "MPI_Alltoallv", {send, Integers(send_counts), Integers(send_at), send_type, nullptr},
      {recv, Integers(recv_counts), Integers(recv_at), recv_type, nullptr}, comm, [&] {
        return native_alltoallv(send, send_counts, send_at, send_type, recv, recv_counts, recv_at,
                                recv_type, comm);
      });
}

template <class Integer>
int alltoallw(const void* caller, const void* send, const Integer* send_counts,
              const Integer* send_at, const void* send_types, void* recv,
              const Integer* recv_counts, const Integer* recv_at, const void* recv_types,
              Word comm) {
  return accelerate_or_pass(
      caller, "MPI_Alltoallw", {send, Integers(send_counts), Integers(send_at), 0, send_types},
      {recv, Integers(recv_counts), Integers(recv_at), 0, recv_types}, comm, [&] {
        return native_alltoallw(send, send_counts, send_at, send_types, recv, recv_counts, recv_at,
                                recv_types, comm);
      });
}

template int alltoallv(const void*, const void*, const int*, const int*, Word, void*, const int*,
                       const int*, Word, Word);
template int alltoallw(const void*, const void*, const int*, const int*, const void*, void*,
                       const int*, const int*, const void*, Word);
#if MPI_VERSION >= 4
template int alltoallv(const void*, const void*, const std::int64_t*, const std::int64_t*, Word,
                       void*, const std::int64_t*, const std::int64_t*, Word, Word);
template int alltoallw(const void*, const void*, const std::int64_t*, const std::int64_t*,
                       const void*, void*, const std::int64_t*, const std::int64_t*, const void*,
                       Word);
#endif

void at_exit() {
  if (const auto* found = Interposer::get()) found->at_exit();
}

int initialised_by_tool(int code) { return interposer().initialised_by_tool(code); }

void finalised_by_tool() { interposer().finalised_by_tool(); }

std::uint64_t exchanges_come() { return come; }

void passed_by(const char* name, const void* next) { interposer().passed_by(name, next); }

void* tool_after_this(const char* name) { return interposer().library().tool_after_this(name); }

}  // namespace alm::mpi::entry
