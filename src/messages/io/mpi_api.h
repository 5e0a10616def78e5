// Pointers to the functions and predefined handles of the process's MPI library. Compiled once per
// MPI ABI. Nothing here refers to a symbol of an MPI library: a preloaded library must load into
// mpirun and sh too, and mpi4py keeps libmpi out of the global scope.
#pragma once

#include <mpi.h>

// All are looked up by name (src/mpi/abi/library.cc), because Debian and PyPI build MPICH with
// different sonames, and Open MPI exports its handles as data. One build serves every release of
// its ABI, so only functions of MPI 3.1 are required; newer ones may be missing at run time.
#define ALM_MPI_FUNCTIONS(X)    \
  X(Init)                       \
  X(Init_thread)                \
  X(Query_thread)               \
  X(Finalize)                   \
  X(Initialized)                \
  X(Abort)                      \
  X(Get_library_version)        \
  X(Alltoall)                   \
  X(Alltoallv)                  \
  X(Alltoallw)                  \
  X(Ialltoall)                  \
  X(Ialltoallv)                 \
  X(Ialltoallw)                 \
  X(Neighbor_alltoall)          \
  X(Neighbor_alltoallv)         \
  X(Neighbor_alltoallw)         \
  X(Ineighbor_alltoall)         \
  X(Ineighbor_alltoallv)        \
  X(Ineighbor_alltoallw)        \
  X(Topo_test)                  \
  X(Cartdim_get)                \
  X(Cart_shift)                 \
  X(Graph_neighbors_count)      \
  X(Graph_neighbors)            \
  X(Dist_graph_neighbors_count) \
  X(Dist_graph_neighbors)       \
  X(Iallgather)                 \
  X(Iallreduce)                 \
  X(Ibarrier)                   \
  X(Isend)                      \
  X(Irecv)                      \
  X(Recv)                       \
  X(Ssend_init)                 \
  X(Start)                      \
  X(Startall)                   \
  X(Test)                       \
  X(Testany)                    \
  X(Testall)                    \
  X(Testsome)                   \
  X(Get_count)                  \
  X(Request_free)               \
  X(Error_class)                \
  X(Iprobe)                     \
  X(Wait)                       \
  X(Waitany)                    \
  X(Waitall)                    \
  X(Waitsome)                   \
  X(Cancel)                     \
  X(Grequest_start)             \
  X(Grequest_complete)          \
  X(Status_set_elements)        \
  X(Status_set_cancelled)       \
  X(Comm_size)                  \
  X(Comm_rank)                  \
  X(Comm_test_inter)            \
  X(Comm_remote_size)           \
  X(Comm_split)                 \
  X(Comm_group)                 \
  X(Group_translate_ranks)      \
  X(Group_size)                 \
  X(Group_free)                 \
  X(Comm_dup)                   \
  X(Comm_free)                  \
  X(Comm_disconnect)            \
  X(Comm_create_keyval)         \
  X(Comm_free_keyval)           \
  X(Comm_set_attr)              \
  X(Comm_get_attr)              \
  X(Comm_set_errhandler)        \
  X(Comm_get_errhandler)        \
  X(Errhandler_free)            \
  X(Comm_call_errhandler)       \
  X(Add_error_class)            \
  X(Add_error_code)             \
  X(Add_error_string)           \
  X(Error_string)               \
  X(Type_size_x)                \
  X(Type_get_extent_x)          \
  X(Type_get_true_extent_x)     \
  X(Type_get_envelope)          \
  X(Type_get_contents)          \
  X(Type_contiguous)            \
  X(Type_create_hindexed)       \
  X(Type_commit)                \
  X(Type_free)                  \
  X(Type_create_keyval)         \
  X(Type_free_keyval)           \
  X(Type_set_attr)              \
  X(Type_get_attr)              \
  X(Pack)                       \
  X(Unpack)

// MPI's tool interface; null where the library has none.
#define ALM_MPI_TOOL_FUNCTIONS(X) \
  X(T_init_thread)                \
  X(T_finalize)                   \
  X(T_cvar_get_index)             \
  X(T_cvar_get_info)              \
  X(T_cvar_handle_alloc)          \
  X(T_cvar_handle_free)           \
  X(T_cvar_read)                  \
  X(T_cvar_write)

namespace alm::messages {

struct MpiApi {
#define ALM_MPI_DECLARE(name) decltype(&PMPI_##name) name = nullptr;
  ALM_MPI_FUNCTIONS(ALM_MPI_DECLARE)
  ALM_MPI_TOOL_FUNCTIONS(ALM_MPI_DECLARE)
#undef ALM_MPI_DECLARE
#if MPI_VERSION >= 4
  decltype(&PMPI_Alltoall_c) Alltoall_c = nullptr;
  decltype(&PMPI_Alltoallv_c) Alltoallv_c = nullptr;
  decltype(&PMPI_Alltoallw_c) Alltoallw_c = nullptr;
  decltype(&PMPI_Ialltoall_c) Ialltoall_c = nullptr;
  decltype(&PMPI_Ialltoallv_c) Ialltoallv_c = nullptr;
  decltype(&PMPI_Ialltoallw_c) Ialltoallw_c = nullptr;
  decltype(&PMPI_Neighbor_alltoall_c) Neighbor_alltoall_c = nullptr;
  decltype(&PMPI_Neighbor_alltoallv_c) Neighbor_alltoallv_c = nullptr;
  decltype(&PMPI_Neighbor_alltoallw_c) Neighbor_alltoallw_c = nullptr;
  decltype(&PMPI_Ineighbor_alltoall_c) Ineighbor_alltoall_c = nullptr;
  decltype(&PMPI_Ineighbor_alltoallv_c) Ineighbor_alltoallv_c = nullptr;
  decltype(&PMPI_Ineighbor_alltoallw_c) Ineighbor_alltoallw_c = nullptr;
  decltype(&PMPI_Type_get_envelope_c) Type_get_envelope_c = nullptr;
  decltype(&PMPI_Type_get_contents_c) Type_get_contents_c = nullptr;
#endif

  // The persistent forms of MPI 4.0; null where the library has none. Words, because headers of
  // releases before it do not declare them.
  void* Alltoall_init = nullptr;
  void* Alltoallv_init = nullptr;
  void* Alltoallw_init = nullptr;
  void* Alltoall_init_c = nullptr;
  void* Alltoallv_init_c = nullptr;
  void* Alltoallw_init_c = nullptr;

  // ULFM's; null where the library has none. Headers of releases before it do not declare it.
  int (*Comm_get_failed)(MPI_Comm comm, MPI_Group* failed) = nullptr;
  int (*Comm_is_revoked)(MPI_Comm comm, int* revoked) = nullptr;

  MPI_Comm comm_world{}, comm_self{}, comm_null{};
  MPI_Datatype byte{}, int64{}, uint64{};
  MPI_Datatype datatype_null{};
  MPI_Request request_null{};
  MPI_Op min{};
  MPI_Errhandler errors_return{}, errors_are_fatal{};
  int* unweighted = nullptr;  // MPI_UNWEIGHTED
};

}  // namespace alm::messages
