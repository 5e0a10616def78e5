// The nonblocking functions put in front of the MPI library's, in the manner of exports.cc.
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

}  // namespace

#define ALM_EXPORT_ALIKE(name, count)                                                         \
  ALM_EXPORT int P##name(const void* send, count send_count, Word send_type, void* recv,      \
                         count recv_count, Word recv_type, Word comm, void* request) {        \
    return entry::ialltoall<count>(ALM_CALLER, send, send_count, send_type, recv, recv_count, \
                                   recv_type, comm, request);                                 \
  }                                                                                           \
  ALM_EXPORT int name(const void* send, count send_count, Word send_type, void* recv,         \
                      count recv_count, Word recv_type, Word comm, void* request) {           \
    static auto* const next = tool<entry::Ialltoall<count>>(#name);                           \
    if (next != nullptr) {                                                                    \
      return next(send, send_count, send_type, recv, recv_count, recv_type, comm, request);   \
    }                                                                                         \
    return entry::ialltoall<count>(ALM_CALLER, send, send_count, send_type, recv, recv_count, \
                                   recv_type, comm, request);                                 \
  }

// v and w have the same shape but for their datatypes: a handle, or an array of them.
#define ALM_EXPORT_BLOCKS(name, function, form, integer, types)                                   \
  ALM_EXPORT int P##name(const void* send, const integer* send_counts, const integer* send_at,    \
                         types send_types, void* recv, const integer* recv_counts,                \
                         const integer* recv_at, types recv_types, Word comm, void* request) {    \
    return entry::function<integer>(ALM_CALLER, send, send_counts, send_at, send_types, recv,     \
                                    recv_counts, recv_at, recv_types, comm, request);             \
  }                                                                                               \
  ALM_EXPORT int name(const void* send, const integer* send_counts, const integer* send_at,       \
                      types send_types, void* recv, const integer* recv_counts,                   \
                      const integer* recv_at, types recv_types, Word comm, void* request) {       \
    static auto* const next = tool<entry::form<integer>>(#name);                                  \
    if (next != nullptr) {                                                                        \
      return next(send, send_counts, send_at, send_types, recv, recv_counts, recv_at, recv_types, \
                  comm, request);                                                                 \
    }                                                                                             \
    return entry::function<integer>(ALM_CALLER, send, send_counts, send_at, send_types, recv,     \
                                    recv_counts, recv_at, recv_types, comm, request);             \
  }

ALM_EXPORT int PMPI_Wait(void* request, void* status) { return entry::wait(request, status); }

ALM_EXPORT int MPI_Wait(void* request, void* status) {
  static auto* const next = tool<decltype(PMPI_Wait)>("MPI_Wait");
  return next != nullptr ? next(request, status) : entry::wait(request, status);
}

ALM_EXPORT int PMPI_Waitall(int count, void* requests, void* statuses) {
  return entry::waitall(count, requests, statuses);
}

ALM_EXPORT int MPI_Waitall(int count, void* requests, void* statuses) {
  static auto* const next = tool<decltype(PMPI_Waitall)>("MPI_Waitall");
  return next != nullptr ? next(count, requests, statuses)
                         : entry::waitall(count, requests, statuses);
}

ALM_EXPORT_ALIKE(MPI_Ialltoall, int)
ALM_EXPORT_BLOCKS(MPI_Ialltoallv, ialltoallv, Ialltoallv, int, Word)
ALM_EXPORT_BLOCKS(MPI_Ialltoallw, ialltoallw, Ialltoallw, int, const void*)
#if ALM_MPI_LARGE_COUNTS
ALM_EXPORT_ALIKE(MPI_Ialltoall_c, std::int64_t)
ALM_EXPORT_BLOCKS(MPI_Ialltoallv_c, ialltoallv, Ialltoallv, std::int64_t, Word)
ALM_EXPORT_BLOCKS(MPI_Ialltoallw_c, ialltoallw, Ialltoallw, std::int64_t, const void*)
#endif
