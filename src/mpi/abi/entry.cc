#include "mpi/abi/entry.h"

#include <cstdio>
#include <cstdlib>

#include "mpi/abi/interposer.h"

namespace alm::mpi::entry {
namespace {

Interposer& interposer() {
  if (auto* found = Interposer::get()) return *found;
  std::fputs(
      "allemande: error: MPI is called, but no MPI library is loaded that allemande knows "
      "(libmpi.so.40, libmpi.so.12, libmpich.so.12)\n",
      stderr);
  std::abort();
}

// The same machine function, seen with words for handles.
template <class Count, class Typed>
Alltoall<Count>* with_words(Typed* real) {
  return reinterpret_cast<Alltoall<Count>*>(reinterpret_cast<void*>(real));
}

template <class Count>
int accelerate_or_pass(Alltoall<Count>* real, const void* caller, const void* send,
                       Count send_count, Word send_type, void* recv, Count recv_count,
                       Word recv_type, Word comm) {
  auto& self = interposer();
  if (!self.library().contains(caller)) {
    const auto code = self.alltoall(send, send_count, send_type, recv, recv_count, recv_type, comm);
    if (code) return *code;
  }
  return real(send, send_count, send_type, recv, recv_count, recv_type, comm);
}

}  // namespace

int init(int* argc, char*** argv) {
  auto& self = interposer();
  return self.initialised(self.library().api().Init(argc, argv));
}

int init_thread(int* argc, char*** argv, int required, int* provided) {
  auto& self = interposer();
  return self.initialised(self.library().api().Init_thread(argc, argv, required, provided));
}

int finalize() {
  auto& self = interposer();
  self.finalising();
  return self.library().api().Finalize();
}

int alltoall(const void* caller, const void* send, int send_count, Word send_type, void* recv,
             int recv_count, Word recv_type, Word comm) {
  auto* const real = with_words<int>(interposer().library().api().Alltoall);
  return accelerate_or_pass(real, caller, send, send_count, send_type, recv, recv_count, recv_type,
                            comm);
}

#if MPI_VERSION >= 4
int alltoall_c(const void* caller, const void* send, std::int64_t send_count, Word send_type,
               void* recv, std::int64_t recv_count, Word recv_type, Word comm) {
  auto* const real = with_words<std::int64_t>(interposer().library().api().Alltoall_c);
  return accelerate_or_pass(real, caller, send, send_count, send_type, recv, recv_count, recv_type,
                            comm);
}
#endif

void* tool_after_this(const char* name) { return interposer().library().tool_after_this(name); }

}  // namespace alm::mpi::entry
