// MPI_Alltoall of each size given, in a communicator of each number of ranks from 2 on: prints
// "RANKS SIZE ok", "wrong" where bytes are, or "failed" where the call returned an error.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int exchange(MPI_Comm comm, int ranks, int rank, int size) {
  unsigned char* send = malloc((size_t)ranks * size);
  unsigned char* recv = calloc((size_t)ranks, size);
  for (int peer = 0; peer < ranks; peer++)
    for (int i = 0; i < size; i++)
      send[peer * size + i] = (unsigned char)(7 * rank + 3 * peer + i + 1);
  int state = MPI_Alltoall(send, size, MPI_BYTE, recv, size, MPI_BYTE, comm) == MPI_SUCCESS ? 0 : 2;
  for (int peer = 0; peer < ranks && state == 0; peer++)
    for (int i = 0; i < size && state == 0; i++)
      state = recv[peer * size + i] != (unsigned char)(7 * peer + 3 * rank + i + 1);
  free(send);
  free(recv);
  return state;
}

int main(int count, char** words) {
  MPI_Init(&count, &words);
  int world, rank;
  MPI_Comm_size(MPI_COMM_WORLD, &world);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int ranks = 2; ranks <= world; ranks++) {
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, rank < ranks ? 0 : MPI_UNDEFINED, rank, &comm);
    if (comm == MPI_COMM_NULL) continue;
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (int i = 1; i < count; i++) {
      int state = exchange(comm, ranks, rank, atoi(words[i])), worst = 0;
      MPI_Reduce(&state, &worst, 1, MPI_INT, MPI_MAX, 0, comm);
      const char* said[] = {"ok", "wrong", "failed"};
      if (rank == 0) printf("%d %s %s\n", ranks, words[i], said[worst]);
    }
    MPI_Comm_free(&comm);
  }
  MPI_Finalize();
  return 0;
}
