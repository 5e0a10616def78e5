// The functions this library puts in front of the MPI library's (design section 5, Interposer).
//
// An application calls MPI_X, the bindings of other languages MPI_X or PMPI_X. Where another tool
// provides MPI_X as well, after us in the search order, MPI_X goes to it, and it comes back through
// PMPI_X: the tool sees every call, and the call is accelerated all the same.
//
// <mpi.h> is not included: it would declare these functions with the handles of one ABI (entry.h).
#include "mpi/abi/entry.h"

#define ALM_EXPORT extern "C" __attribute__((visibility("default")))
#define ALM_CALLER __builtin_return_address(0)

namespace {

using alm::mpi::entry::Word;
namespace entry = alm::mpi::entry;

template <class Function>
Function* tool(const char* name) {
  return reinterpret_cast<Function*>(entry::tool_after_this(name));
}

// An exchange that the tool gets.
template <class Function, class... Arguments>
int give(const char* name, Function* next, Arguments... arguments) {
  const std::uint64_t before = entry::exchanges_come();
  const int code = next(arguments...);
  if (entry::exchanges_come() == before) {
    entry::passed_by(name, reinterpret_cast<const void*>(next));
  }
  return code;
}

__attribute__((destructor)) void at_exit() { entry::at_exit(); }

}  // namespace

ALM_EXPORT int PMPI_Init(int* argc, char*** argv) { return entry::init(argc, argv); }

ALM_EXPORT int MPI_Init(int* argc, char*** argv) {
  static auto* const next = tool<decltype(PMPI_Init)>("MPI_Init");
  return next != nullptr ? entry::initialised_by_tool(next(argc, argv)) : entry::init(argc, argv);
}

ALM_EXPORT int PMPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  return entry::init_thread(argc, argv, required, provided);
}

ALM_EXPORT int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  static auto* const next = tool<decltype(PMPI_Init_thread)>("MPI_Init_thread");
  return next != nullptr ? entry::initialised_by_tool(next(argc, argv, required, provided))
                         : entry::init_thread(argc, argv, required, provided);
}

ALM_EXPORT int PMPI_Finalize() { return entry::finalize(); }

ALM_EXPORT int MPI_Finalize() {
  static auto* const next = tool<decltype(PMPI_Finalize)>("MPI_Finalize");
  if (next == nullptr) return entry::finalize();
  entry::finalised_by_tool();
  return next();
}

ALM_EXPORT int PMPI_Abort(Word comm, int code) { return entry::abort(comm, code); }

ALM_EXPORT int MPI_Abort(Word comm, int code) {
  static auto* const next = tool<decltype(PMPI_Abort)>("MPI_Abort");
  return next != nullptr ? next(comm, code) : entry::abort(comm, code);
}

ALM_EXPORT int PMPI_Alltoall(const void* send, int send_count, Word send_type, void* recv,
                             int recv_count, Word recv_type, Word comm) {
  return entry::alltoall(ALM_CALLER, send, send_count, send_type, recv, recv_count, recv_type,
                         comm);
}

ALM_EXPORT int MPI_Alltoall(const void* send, int send_count, Word send_type, void* recv,
                            int recv_count, Word recv_type, Word comm) {
  static auto* const next = tool<entry::Alltoall<int>>("MPI_Alltoall");
  if (next != nullptr) {
    return give("MPI_Alltoall", next, send, send_count, send_type, recv, recv_count, recv_type,
                comm);
  }
  return entry::alltoall(ALM_CALLER, send, send_count, send_type, recv, recv_count, recv_type,
                         comm);
}

#if ALM_MPI_LARGE_COUNTS
ALM_EXPORT int PMPI_Alltoall_c(const void* send, std::int64_t send_count, Word send_type,
                               void* recv, std::int64_t recv_count, Word recv_type, Word comm) {
  return entry::alltoall_c(ALM_CALLER, send, send_count, send_type, recv, recv_count, recv_type,
                           comm);
}

ALM_EXPORT int MPI_Alltoall_c(const void* send, std::int64_t send_count, Word send_type, void* recv,
                              std::int64_t recv_count, Word recv_type, Word comm) {
  static auto* const next = tool<entry::Alltoall<std::int64_t>>("MPI_Alltoall_c");
  if (next != nullptr) {
    return give("MPI_Alltoall_c", next, send, send_count, send_type, recv, recv_count, recv_type,
                comm);
  }
  return entry::alltoall_c(ALM_CALLER, send, send_count, send_type, recv, recv_count, recv_type,
                           comm);
}
#endif

// v and w have the same shape but for their datatypes: a handle, or an array of them.
#define ALM_EXPORT_BLOCKS(name, function, form, integer, types)                                    \
  ALM_EXPORT int P##name(const void* send, const integer* send_counts, const integer* send_at,     \
                         types send_types, void* recv, const integer* recv_counts,                 \
                         const integer* recv_at, types recv_types, Word comm) {                    \
    return entry::function<integer>(ALM_CALLER, send, send_counts, send_at, send_types, recv,      \
                                    recv_counts, recv_at, recv_types, comm);                       \
  }                                                                                                \
  ALM_EXPORT int name(const void* send, const integer* send_counts, const integer* send_at,        \
                      types send_types, void* recv, const integer* recv_counts,                    \
                      const integer* recv_at, types recv_types, Word comm) {                       \
    static auto* const next = tool<entry::form<integer>>(#name);                                   \
    if (next != nullptr) {                                                                         \
      return give(#name, next, send, send_counts, send_at, send_types, recv, recv_counts, recv_at, \
                  recv_types, comm);                                                               \
    }                                                                                              \
    return entry::function<integer>(ALM_CALLER, send, send_counts, send_at, send_types, recv,      \
                                    recv_counts, recv_at, recv_types, comm);                       \
  }

ALM_EXPORT_BLOCKS(MPI_Alltoallv, alltoallv, Alltoallv, int, Word)
ALM_EXPORT_BLOCKS(MPI_Alltoallw, alltoallw, Alltoallw, int, const void*)
#if ALM_MPI_LARGE_COUNTS
ALM_EXPORT_BLOCKS(MPI_Alltoallv_c, alltoallv, Alltoallv, std::int64_t, Word)
ALM_EXPORT_BLOCKS(MPI_Alltoallw_c, alltoallw, Alltoallw, std::int64_t, const void*)
#endif
