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

// An exchange that the tool gets, or the start of one.
template <class Call>
int give(const char* name, const void* next, const Call& call) {
  const std::uint64_t before = entry::exchanges_come();
  const int code = call();
  if (entry::exchanges_come() == before) entry::passed_by(name, next);
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

// MPI_X and PMPI_X. `given` are the names of the parameters.
#define ALM_EXPORT_PLAIN(name, call, parameters, given)                  \
  ALM_EXPORT int PMPI_##name parameters { return entry::call given; }    \
  ALM_EXPORT int MPI_##name parameters {                                 \
    static auto* const next = tool<decltype(PMPI_##name)>("MPI_" #name); \
    return next != nullptr ? next given : entry::call given;             \
  }

ALM_EXPORT_PLAIN(Abort, abort, (Word comm, int code), (comm, code))
ALM_EXPORT_PLAIN(Comm_free, comm_free, (void* comm), (comm))
ALM_EXPORT_PLAIN(Comm_disconnect, comm_disconnect, (void* comm), (comm))

ALM_EXPORT_PLAIN(Wait, wait, (void* request, void* status), (request, status))
ALM_EXPORT_PLAIN(Waitall, waitall, (int count, void* requests, void* statuses),
                 (count, requests, statuses))
ALM_EXPORT_PLAIN(Waitany, waitany, (int count, void* requests, int* index, void* status),
                 (count, requests, index, status))
ALM_EXPORT_PLAIN(Waitsome, waitsome,
                 (int count, void* requests, int* found, int* indices, void* statuses),
                 (count, requests, found, indices, statuses))
ALM_EXPORT_PLAIN(Test, test, (void* request, int* done, void* status), (request, done, status))
ALM_EXPORT_PLAIN(Testall, testall, (int count, void* requests, int* done, void* statuses),
                 (count, requests, done, statuses))
ALM_EXPORT_PLAIN(Testany, testany, (int count, void* requests, int* index, int* done, void* status),
                 (count, requests, index, done, status))
ALM_EXPORT_PLAIN(Testsome, testsome,
                 (int count, void* requests, int* found, int* indices, void* statuses),
                 (count, requests, found, indices, statuses))
ALM_EXPORT_PLAIN(Start, start, (void* request), (request))
ALM_EXPORT_PLAIN(Startall, startall, (int count, void* requests), (count, requests))
ALM_EXPORT_PLAIN(Request_free, request_free, (void* request), (request))
ALM_EXPORT_PLAIN(Cancel, cancel, (void* request), (request))

// MPI_X and PMPI_X. `given` are the parameters as the next tool takes them, `arguments` as we do.
#define ALM_EXPORT_BOTH(name, give, parameters, given, arguments)                        \
  ALM_EXPORT int P##name parameters { return entry::alltoall(ALM_CALLER, arguments); }   \
  ALM_EXPORT int name parameters {                                                       \
    static auto* const next = tool<decltype(P##name)>(#name);                            \
    if (next == nullptr) return entry::alltoall(ALM_CALLER, arguments);                  \
    return give(#name, reinterpret_cast<const void*>(next), [&] { return next given; }); \
  }

#define ALM_ALIKE(integer)                                                              \
  const void *send, integer send_count, Word send_type, void *recv, integer recv_count, \
      Word recv_type, Word comm
#define ALM_GIVEN_ALIKE send, send_count, send_type, recv, recv_count, recv_type, comm
#define ALM_ARGUMENTS(integer, ...)                \
  (entry::Arguments{{send, send_count, send_type}, \
                    {recv, recv_count, recv_type}, \
                    comm,                          \
                    sizeof(integer) > sizeof(int) __VA_OPT__(, ) __VA_ARGS__})

// v and w have the same shape but for their datatypes: a handle, or an array of them.
#define ALM_BLOCKS(integer)                                                              \
  const void *send, const integer *send_counts, const integer *send_at, Word send_types, \
      void *recv, const integer *recv_counts, const integer *recv_at, Word recv_types, Word comm
#define ALM_GIVEN_BLOCKS \
  send, send_counts, send_at, send_types, recv, recv_counts, recv_at, recv_types, comm
#define ALM_BLOCK_ARGUMENTS(typed, ...)                            \
  (entry::BlockArguments{{send, send_counts, send_at, send_types}, \
                         {recv, recv_counts, recv_at, recv_types}, \
                         comm,                                     \
                         typed __VA_OPT__(, ) __VA_ARGS__})

// The forms with one width of counts; `c` ends their names.
#define ALM_EXPORT_FORMS(integer, c)                                                 \
  ALM_EXPORT_BOTH(MPI_Alltoall##c, give, (ALM_ALIKE(integer)), (ALM_GIVEN_ALIKE),    \
                  ALM_ARGUMENTS(integer))                                            \
  ALM_EXPORT_BOTH(MPI_Alltoallv##c, give, (ALM_BLOCKS(integer)), (ALM_GIVEN_BLOCKS), \
                  ALM_BLOCK_ARGUMENTS(false))                                        \
  ALM_EXPORT_BOTH(MPI_Alltoallw##c, give, (ALM_BLOCKS(integer)), (ALM_GIVEN_BLOCKS), \
                  ALM_BLOCK_ARGUMENTS(true))                                         \
  ALM_EXPORT_BOTH(MPI_Ialltoall##c, give, (ALM_ALIKE(integer), void* request),       \
                  (ALM_GIVEN_ALIKE, request), ALM_ARGUMENTS(integer, request))       \
  ALM_EXPORT_BOTH(MPI_Ialltoallv##c, give, (ALM_BLOCKS(integer), void* request),     \
                  (ALM_GIVEN_BLOCKS, request), ALM_BLOCK_ARGUMENTS(false, request))  \
  ALM_EXPORT_BOTH(MPI_Ialltoallw##c, give, (ALM_BLOCKS(integer), void* request),     \
                  (ALM_GIVEN_BLOCKS, request), ALM_BLOCK_ARGUMENTS(true, request))   \
  ALM_EXPORT_PERSISTENT_FORMS(MPI_, integer, c)

// `prefix` begins their names.
#define ALM_EXPORT_PERSISTENT_FORMS(prefix, integer, c)                                           \
  ALM_EXPORT_BOTH(prefix##Alltoall_init##c, give, (ALM_ALIKE(integer), Word info, void* request), \
                  (ALM_GIVEN_ALIKE, info, request), ALM_ARGUMENTS(integer, request, false, info)) \
  ALM_EXPORT_BOTH(                                                                                \
      prefix##Alltoallv_init##c, give, (ALM_BLOCKS(integer), Word info, void* request),           \
      (ALM_GIVEN_BLOCKS, info, request), ALM_BLOCK_ARGUMENTS(false, request, false, info))        \
  ALM_EXPORT_BOTH(                                                                                \
      prefix##Alltoallw_init##c, give, (ALM_BLOCKS(integer), Word info, void* request),           \
      (ALM_GIVEN_BLOCKS, info, request), ALM_BLOCK_ARGUMENTS(true, request, false, info))

// Those among the neighbours of a topology. Displacements of w are addresses at every width.
#define ALM_BLOCKS_AT(integer, place)                                                              \
  const void *send, const integer *send_counts, const place *send_at, Word send_types, void *recv, \
      const integer *recv_counts, const place *recv_at, Word recv_types, Word comm
#define ALM_EXPORT_NEIGHBOUR_FORMS(integer, c)                                                \
  ALM_EXPORT_BOTH(MPI_Neighbor_alltoall##c, give, (ALM_ALIKE(integer)), (ALM_GIVEN_ALIKE),    \
                  ALM_ARGUMENTS(integer, std::nullopt, true))                                 \
  ALM_EXPORT_BOTH(MPI_Neighbor_alltoallv##c, give, (ALM_BLOCKS(integer)), (ALM_GIVEN_BLOCKS), \
                  ALM_BLOCK_ARGUMENTS(false, std::nullopt, true))                             \
  ALM_EXPORT_BOTH(MPI_Neighbor_alltoallw##c, give, (ALM_BLOCKS_AT(integer, std::int64_t)),    \
                  (ALM_GIVEN_BLOCKS), ALM_BLOCK_ARGUMENTS(true, std::nullopt, true))          \
  ALM_EXPORT_BOTH(MPI_Ineighbor_alltoall##c, give, (ALM_ALIKE(integer), void* request),       \
                  (ALM_GIVEN_ALIKE, request), ALM_ARGUMENTS(integer, request, true))          \
  ALM_EXPORT_BOTH(MPI_Ineighbor_alltoallv##c, give, (ALM_BLOCKS(integer), void* request),     \
                  (ALM_GIVEN_BLOCKS, request), ALM_BLOCK_ARGUMENTS(false, request, true))     \
  ALM_EXPORT_BOTH(MPI_Ineighbor_alltoallw##c, give,                                           \
                  (ALM_BLOCKS_AT(integer, std::int64_t), void* request),                      \
                  (ALM_GIVEN_BLOCKS, request), ALM_BLOCK_ARGUMENTS(true, request, true))

ALM_EXPORT_FORMS(int, )
#if ALM_MPI_PERSISTENT_EXTENSION
ALM_EXPORT_PERSISTENT_FORMS(MPIX_, int, )
#endif
ALM_EXPORT_NEIGHBOUR_FORMS(int, )
#if ALM_MPI_LARGE_COUNTS
ALM_EXPORT_FORMS(std::int64_t, _c)
ALM_EXPORT_NEIGHBOUR_FORMS(std::int64_t, _c)
#endif
