// The nonblocking forms (entry.h).
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "mpi/abi/entry.h"
#include "mpi/abi/interposer.h"
#include "mpi/abi/words.h"

namespace alm::mpi::entry {
namespace {

#if MPI_VERSION >= 4
// A library older than the header has no _c forms, but a program may find ours and take them for
// its own (mpi4py does). Counts that an int can hold go to the old forms; others are an
// error.
constexpr std::int64_t kMost = std::numeric_limits<int>::max();

int refuse(Word comm) {
  with_words<int(Word, int)>(interposer().library().api().Comm_call_errhandler)(comm,
                                                                                MPI_ERR_COUNT);
  return MPI_ERR_COUNT;
}

// False: a value that an int cannot hold. The library may look at the array until the request is
// complete.
bool narrow(const std::int64_t* wide, std::size_t size, const int*& out) {
  out = nullptr;
  if (wide == nullptr) return true;
  if (std::any_of(wide, wide + size, [](auto value) { return value < -kMost || value > kMost; })) {
    return false;
  }
  out = interposer().keep({wide, wide + size});
  return true;
}

std::size_t blocks_of(Word comm) {
  const auto& api = interposer().library().api();
  int inter = 0;
  int blocks = 0;
  if (with_words<int(Word, int*)>(api.Comm_test_inter)(comm, &inter) != MPI_SUCCESS) return 0;
  with_words<int(Word, int*)>(inter != 0 ? api.Comm_remote_size : api.Comm_size)(comm, &blocks);
  return static_cast<std::size_t>(blocks);
}

template <class Form, class Types>
int narrowed(Form* real, const void* send, const std::int64_t* send_counts,
             const std::int64_t* send_at, Types send_types, void* recv,
             const std::int64_t* recv_counts, const std::int64_t* recv_at, Types recv_types,
             Word comm, void* request) {
  const std::size_t blocks = blocks_of(comm);
  const bool in_place = send == MPI_IN_PLACE;
  const int *counts_out, *at_out, *counts_in, *at_in;
  if (!narrow(in_place ? nullptr : send_counts, blocks, counts_out) ||
      !narrow(in_place ? nullptr : send_at, blocks, at_out) ||
      !narrow(recv_counts, blocks, counts_in) || !narrow(recv_at, blocks, at_in)) {
    return refuse(comm);
  }
  return real(send, counts_out, at_out, send_types, recv, counts_in, at_in, recv_types, comm,
              request);
}
#endif

template <class Integer>
constexpr bool kWide = sizeof(Integer) == sizeof(std::int64_t);

template <class Count>
int native_ialltoall(const void* send, Count send_count, Word send_type, void* recv,
                     Count recv_count, Word recv_type, Word comm, void* request) {
  const auto& api = interposer().library().api();
  auto* real = with_words<Ialltoall<Count>>(api.Ialltoall);
#if MPI_VERSION >= 4
  if constexpr (kWide<Count>) {
    real = with_words<Ialltoall<Count>>(api.Ialltoall_c);
    if (real == nullptr) {
      if (recv_count > kMost || (send != MPI_IN_PLACE && send_count > kMost)) return refuse(comm);
      return with_words<Ialltoall<int>>(api.Ialltoall)(
          send, static_cast<int>(send_count), send_type, recv, static_cast<int>(recv_count),
          recv_type, comm, request);
    }
  }
#endif
  return real(send, send_count, send_type, recv, recv_count, recv_type, comm, request);
}

template <class Integer>
int native_ialltoallv(const void* send, const Integer* send_counts, const Integer* send_at,
                      Word send_type, void* recv, const Integer* recv_counts,
                      const Integer* recv_at, Word recv_type, Word comm, void* request) {
  const auto& api = interposer().library().api();
  auto* real = with_words<Ialltoallv<Integer>>(api.Ialltoallv);
#if MPI_VERSION >= 4
  if constexpr (kWide<Integer>) {
    real = with_words<Ialltoallv<Integer>>(api.Ialltoallv_c);
    if (real == nullptr) {
      return narrowed(with_words<Ialltoallv<int>>(api.Ialltoallv), send, send_counts, send_at,
                      send_type, recv, recv_counts, recv_at, recv_type, comm, request);
    }
  }
#endif
  return real(send, send_counts, send_at, send_type, recv, recv_counts, recv_at, recv_type, comm,
              request);
}

template <class Integer>
int native_ialltoallw(const void* send, const Integer* send_counts, const Integer* send_at,
                      const void* send_types, void* recv, const Integer* recv_counts,
                      const Integer* recv_at, const void* recv_types, Word comm, void* request) {
  const auto& api = interposer().library().api();
  auto* real = with_words<Ialltoallw<Integer>>(api.Ialltoallw);
#if MPI_VERSION >= 4
  if constexpr (kWide<Integer>) {
    real = with_words<Ialltoallw<Integer>>(api.Ialltoallw_c);
    if (real == nullptr) {
      return narrowed(with_words<Ialltoallw<int>>(api.Ialltoallw), send, send_counts, send_at,
                      send_types, recv, recv_counts, recv_at, recv_types, comm, request);
    }
  }
#endif
  return real(send, send_counts, send_at, send_types, recv, recv_counts, recv_at, recv_types, comm,
              request);
}

}  // namespace

template <class Count>
int ialltoall(const void* caller, const void* send, Count send_count, Word send_type, void* recv,
              Count recv_count, Word recv_type, Word comm, void* request) {
  auto& self = interposer();
  if (!self.library().contains(caller)) {
    const auto code =
        self.ialltoall(send, send_count, send_type, recv, recv_count, recv_type, comm, request);
    if (code) return *code;
  }
  const int code =
      native_ialltoall(send, send_count, send_type, recv, recv_count, recv_type, comm, request);
  if (code == MPI_SUCCESS && !self.library().contains(caller)) {
    self.passed(tally::Function::kIalltoall, recv_count, recv_type);
  }
  return code;
}

template <class Integer>
int ialltoallv(const void* caller, const void* send, const Integer* send_counts,
               const Integer* send_at, Word send_type, void* recv, const Integer* recv_counts,
               const Integer* recv_at, Word recv_type, Word comm, void* request) {
  auto& self = interposer();
  if (!self.library().contains(caller)) {
    const auto code = self.ialltoall_blocks(
        "MPI_Ialltoallv", {send, Integers(send_counts), Integers(send_at), send_type, nullptr},
        {recv, Integers(recv_counts), Integers(recv_at), recv_type, nullptr}, comm, request);
    if (code) return *code;
  }
  const int code = native_ialltoallv(send, send_counts, send_at, send_type, recv, recv_counts,
                                     recv_at, recv_type, comm, request);
  if (code == MPI_SUCCESS && !self.library().contains(caller)) {
    self.passed(tally::Function::kIalltoallv,
                {recv, Integers(recv_counts), Integers(recv_at), recv_type, nullptr}, comm);
  }
  return code;
}

template <class Integer>
int ialltoallw(const void* caller, const void* send, const Integer* send_counts,
               const Integer* send_at, const void* send_types, void* recv,
               const Integer* recv_counts, const Integer* recv_at, const void* recv_types,
               Word comm, void* request) {
  auto& self = interposer();
  if (!self.library().contains(caller)) {
    const auto code = self.ialltoall_blocks(
        "MPI_Ialltoallw", {send, Integers(send_counts), Integers(send_at), 0, send_types},
        {recv, Integers(recv_counts), Integers(recv_at), 0, recv_types}, comm, request);
    if (code) return *code;
  }
  const int code = native_ialltoallw(send, send_counts, send_at, send_types, recv, recv_counts,
                                     recv_at, recv_types, comm, request);
  if (code == MPI_SUCCESS && !self.library().contains(caller)) {
    self.passed(tally::Function::kIalltoallw,
                {recv, Integers(recv_counts), Integers(recv_at), 0, recv_types}, comm);
  }
  return code;
}

int wait(void* request, void* status) {
  auto& self = interposer();
  self.sleep_until_complete(1, request);
  return with_words<int(void*, void*)>(self.library().api().Wait)(request, status);
}

int waitall(int count, void* requests, void* statuses) {
  auto& self = interposer();
  self.sleep_until_complete(count, requests);
  return with_words<int(int, void*, void*)>(self.library().api().Waitall)(count, requests,
                                                                          statuses);
}

#define ALM_INSTANTIATE(Integer)                                                                 \
  template int ialltoall(const void*, const void*, Integer, Word, void*, Integer, Word, Word,    \
                         void*);                                                                 \
  template int ialltoallv(const void*, const void*, const Integer*, const Integer*, Word, void*, \
                          const Integer*, const Integer*, Word, Word, void*);                    \
  template int ialltoallw(const void*, const void*, const Integer*, const Integer*, const void*, \
                          void*, const Integer*, const Integer*, const void*, Word, void*);

ALM_INSTANTIATE(int)
#if MPI_VERSION >= 4
ALM_INSTANTIATE(std::int64_t)
#endif

}  // namespace alm::mpi::entry
