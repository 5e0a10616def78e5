// A communicator of an MPI session outlives MPI_Finalize, and is freed after it.
#include "check.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
#if MPI_VERSION >= 4
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "freed-late", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  int* send = allocate(ranks * (long)sizeof(int));
  int* recv = allocate(ranks * (long)sizeof(int));
  for (int call = 0; call < 2; ++call) {
    for (int i = 0; i < ranks; ++i) send[i] = 100 * rank + i + call;
    MPI_Alltoall(send, 1, MPI_INT, recv, 1, MPI_INT, comm);
    for (int i = 0; i < ranks; ++i) expect(recv[i] == 100 * i + rank + call, "what has come");
    if (call == 0) MPI_Finalize();
  }
  free(send);
  free(recv);
  MPI_Comm_free(&comm);
  MPI_Group_free(&group);
  MPI_Session_finalize(&session);
#else
  MPI_Finalize();
#endif
  if (rank == 0) puts("CORRECT");
  return 0;
}
