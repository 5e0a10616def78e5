// A tool as profilers are: wraps the complete exchanges and goes on to PMPI.
#include <mpi.h>
#include <stdio.h>

static int calls, calls_v, calls_w;

int MPI_Alltoall(const void* send, int send_count, MPI_Datatype send_type, void* recv,
                 int recv_count, MPI_Datatype recv_type, MPI_Comm comm) {
  ++calls;
  return PMPI_Alltoall(send, send_count, send_type, recv, recv_count, recv_type, comm);
}

int MPI_Alltoallv(const void* send, const int* send_counts, const int* send_at,
                  MPI_Datatype send_type, void* recv, const int* recv_counts, const int* recv_at,
                  MPI_Datatype recv_type, MPI_Comm comm) {
  ++calls_v;
  return PMPI_Alltoallv(send, send_counts, send_at, send_type, recv, recv_counts, recv_at,
                        recv_type, comm);
}

int MPI_Alltoallw(const void* send, const int* send_counts, const int* send_at,
                  const MPI_Datatype* send_types, void* recv, const int* recv_counts,
                  const int* recv_at, const MPI_Datatype* recv_types, MPI_Comm comm) {
  ++calls_w;
  return PMPI_Alltoallw(send, send_counts, send_at, send_types, recv, recv_counts, recv_at,
                        recv_types, comm);
}

#if MPI_VERSION >= 4
int MPI_Alltoallv_c(const void* send, const MPI_Count* send_counts, const MPI_Aint* send_at,
                    MPI_Datatype send_type, void* recv, const MPI_Count* recv_counts,
                    const MPI_Aint* recv_at, MPI_Datatype recv_type, MPI_Comm comm) {
  ++calls_v;
  return PMPI_Alltoallv_c(send, send_counts, send_at, send_type, recv, recv_counts, recv_at,
                          recv_type, comm);
}

int MPI_Alltoallw_c(const void* send, const MPI_Count* send_counts, const MPI_Aint* send_at,
                    const MPI_Datatype* send_types, void* recv, const MPI_Count* recv_counts,
                    const MPI_Aint* recv_at, const MPI_Datatype* recv_types, MPI_Comm comm) {
  ++calls_w;
  return PMPI_Alltoallw_c(send, send_counts, send_at, send_types, recv, recv_counts, recv_at,
                          recv_types, comm);
}
#endif

int MPI_Finalize(void) {
  fprintf(stderr, "tool: %d of MPI_Alltoall, %d of v, %d of w\n", calls, calls_v, calls_w);
  return PMPI_Finalize();
}
