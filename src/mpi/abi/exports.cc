// The functions this library puts in front of the MPI library's (design section 5, Interposer).
//
// An application calls MPI_X, the bindings of other languages MPI_X or PMPI_X. Where another tool
// provides MPI_X as well, after us in the search order, MPI_X goes to it, and it comes back through
// PMPI_X: the tool sees every call, and the call is accelerated all the same.
#include <cstdio>
#include <cstdlib>

#include "mpi/abi/interposer.h"

// The address the exported function returns to tells who called it.
#define ALM_CALLER __builtin_return_address(0)

namespace {

using alm::mpi::Interposer;

Interposer& interposer(const char* function) {
  if (auto* found = Interposer::get()) return *found;
  std::fprintf(stderr,
               "allemande: error: %s is called, but no MPI library is loaded that "
               "allemande knows (libmpi.so.40, libmpi.so.12, libmpich.so.12)\n",
               function);
  std::abort();
}

template <class Function>
Function* tool(const char* name) {
  return reinterpret_cast<Function*>(interposer(name).library().tool_after_this(name));
}

int init(int* argc, char*** argv) {
  auto& self = interposer("MPI_Init");
  return self.initialised(self.library().api().Init(argc, argv));
}

int init_thread(int* argc, char*** argv, int required, int* provided) {
  auto& self = interposer("MPI_Init_thread");
  return self.initialised(self.library().api().Init_thread(argc, argv, required, provided));
}

int finalize() {
  auto& self = interposer("MPI_Finalize");
  self.finalising();
  return self.library().api().Finalize();
}

// `Real` is the library's PMPI_Alltoall or PMPI_Alltoall_c, `Count` its counts.
template <class Count, class Real>
int alltoall(Real real, const void* caller, const void* send, Count send_count,
             MPI_Datatype send_type, void* recv, Count recv_count, MPI_Datatype recv_type,
             MPI_Comm comm) {
  auto& self = interposer("MPI_Alltoall");
  if (!self.library().contains(caller)) {
    const auto code = self.alltoall(send, send_count, send_type, recv, recv_count, recv_type, comm);
    if (code) return *code;
  }
  return real(send, send_count, send_type, recv, recv_count, recv_type, comm);
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int MPI_Init(int* argc, char*** argv) {
  static auto* const next = tool<decltype(PMPI_Init)>("MPI_Init");
  return next != nullptr ? next(argc, argv) : init(argc, argv);
}

__attribute__((visibility("default"))) int PMPI_Init(int* argc, char*** argv) {
  return init(argc, argv);
}

__attribute__((visibility("default"))) int MPI_Init_thread(int* argc, char*** argv, int required,
                                                           int* provided) {
  static auto* const next = tool<decltype(PMPI_Init_thread)>("MPI_Init_thread");
  return next != nullptr ? next(argc, argv, required, provided)
                         : init_thread(argc, argv, required, provided);
}

__attribute__((visibility("default"))) int PMPI_Init_thread(int* argc, char*** argv, int required,
                                                            int* provided) {
  return init_thread(argc, argv, required, provided);
}

__attribute__((visibility("default"))) int MPI_Finalize() {
  static auto* const next = tool<decltype(PMPI_Finalize)>("MPI_Finalize");
  return next != nullptr ? next() : finalize();
}

__attribute__((visibility("default"))) int PMPI_Finalize() { return finalize(); }

__attribute__((visibility("default"))) int MPI_Alltoall(const void* send, int send_count,
                                                        MPI_Datatype send_type, void* recv,
                                                        int recv_count, MPI_Datatype recv_type,
                                                        MPI_Comm comm) {
  static auto* const next = tool<decltype(PMPI_Alltoall)>("MPI_Alltoall");
  if (next != nullptr) {
    return next(send, send_count, send_type, recv, recv_count, recv_type, comm);
  }
  return alltoall(interposer("MPI_Alltoall").library().api().Alltoall, ALM_CALLER, send, send_count,
                  send_type, recv, recv_count, recv_type, comm);
}

__attribute__((visibility("default"))) int PMPI_Alltoall(const void* send, int send_count,
                                                         MPI_Datatype send_type, void* recv,
                                                         int recv_count, MPI_Datatype recv_type,
                                                         MPI_Comm comm) {
  return alltoall(interposer("PMPI_Alltoall").library().api().Alltoall, ALM_CALLER, send,
                  send_count, send_type, recv, recv_count, recv_type, comm);
}

#if MPI_VERSION >= 4
__attribute__((visibility("default"))) int MPI_Alltoall_c(const void* send, MPI_Count send_count,
                                                          MPI_Datatype send_type, void* recv,
                                                          MPI_Count recv_count,
                                                          MPI_Datatype recv_type, MPI_Comm comm) {
  static auto* const next = tool<decltype(PMPI_Alltoall_c)>("MPI_Alltoall_c");
  if (next != nullptr) {
    return next(send, send_count, send_type, recv, recv_count, recv_type, comm);
  }
  return alltoall(interposer("MPI_Alltoall_c").library().api().Alltoall_c, ALM_CALLER, send,
                  send_count, send_type, recv, recv_count, recv_type, comm);
}

__attribute__((visibility("default"))) int PMPI_Alltoall_c(const void* send, MPI_Count send_count,
                                                           MPI_Datatype send_type, void* recv,
                                                           MPI_Count recv_count,
                                                           MPI_Datatype recv_type, MPI_Comm comm) {
  return alltoall(interposer("PMPI_Alltoall_c").library().api().Alltoall_c, ALM_CALLER, send,
                  send_count, send_type, recv, recv_count, recv_type, comm);
}
#endif

}  // extern "C"
