// A tool as I/O profilers are: goes on to the PMPI function of the next library, and does not look
// at those before it. WRAP_Alltoall and the like: it wraps that function as well.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

#define NEXT(function) ((__typeof__(&function))dlsym(RTLD_NEXT, #function))

static int calls;

int MPI_Init(int* argc, char*** argv) { return NEXT(PMPI_Init)(argc, argv); }

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  return NEXT(PMPI_Init_thread)(argc, argv, required, provided);
}

int MPI_Finalize(void) {
  fprintf(stderr, "next tool: %d exchanges\n", calls);
  return NEXT(PMPI_Finalize)();
}

#ifdef WRAP_Alltoall
int MPI_Alltoall(const void* send, int send_count, MPI_Datatype send_type, void* recv,
                 int recv_count, MPI_Datatype recv_type, MPI_Comm comm) {
  ++calls;
  return NEXT(PMPI_Alltoall)(send, send_count, send_type, recv, recv_count, recv_type, comm);
}
#endif

#ifdef WRAP_Ialltoall
int MPI_Ialltoall(const void* send, int send_count, MPI_Datatype send_type, void* recv,
                  int recv_count, MPI_Datatype recv_type, MPI_Comm comm, MPI_Request* request) {
  ++calls;
  return NEXT(PMPI_Ialltoall)(send, send_count, send_type, recv, recv_count, recv_type, comm,
                              request);
}
#endif

#ifdef WRAP_Alltoall_init
int MPI_Alltoall_init(const void* send, int send_count, MPI_Datatype send_type, void* recv,
                      int recv_count, MPI_Datatype recv_type, MPI_Comm comm, MPI_Info info,
                      MPI_Request* request) {
  ++calls;
  return NEXT(PMPI_Alltoall_init)(send, send_count, send_type, recv, recv_count, recv_type, comm,
                                  info, request);
}
#endif

#ifdef WRAP_Neighbor_alltoall
int MPI_Neighbor_alltoall(const void* send, int send_count, MPI_Datatype send_type, void* recv,
                          int recv_count, MPI_Datatype recv_type, MPI_Comm comm) {
  ++calls;
  return NEXT(PMPI_Neighbor_alltoall)(send, send_count, send_type, recv, recv_count, recv_type,
                                      comm);
}
#endif

#ifdef WRAP_Ineighbor_alltoall
int MPI_Ineighbor_alltoall(const void* send, int send_count, MPI_Datatype send_type, void* recv,
                           int recv_count, MPI_Datatype recv_type, MPI_Comm comm,
                           MPI_Request* request) {
  ++calls;
  return NEXT(PMPI_Ineighbor_alltoall)(send, send_count, send_type, recv, recv_count, recv_type,
                                       comm, request);
}
#endif
