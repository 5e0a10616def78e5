// Exchanges some blocks, then ends in the way that the argument names. Prints CORRECT where it ends
// as programs should.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kCalls = 5, kBytes = 1000 };

// Every rank has a connection to every other. Open MPI's daemons (PMIx 5.0.11rc1) may wait for one
// another for ever, with or without allemande, where a rank dies while others make connections:
// docs/preload.md, "A rank is lost".
static void meet_all(int rank, int ranks) {
  for (int i = 1; i < ranks; ++i) {
    const int to = (rank + i) % ranks;
    const int from = (rank + ranks - i) % ranks;
    int there = rank;
    int here = -1;
    MPI_Sendrecv(&there, 1, MPI_INT, to, 0, &here, 1, MPI_INT, from, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  }
}

int main(int argc, char** argv) {
  const char* end = argc > 1 ? argv[1] : "finalize";
  int rank = 0;
  int ranks = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  char* send = calloc((size_t)ranks, kBytes);
  char* recv = calloc((size_t)ranks, kBytes);
  if (send == NULL || recv == NULL) return 1;
  meet_all(rank, ranks);
  if (strcmp(end, "nothing") != 0) {
    for (int i = 0; i < kCalls; ++i) {
      MPI_Alltoall(send, kBytes, MPI_BYTE, recv, kBytes, MPI_BYTE, MPI_COMM_WORLD);
    }
  }
  if (strcmp(end, "abort") == 0 && rank == 1) MPI_Abort(MPI_COMM_WORLD, 5);
  if (strcmp(end, "crash") == 0 && rank == 0) raise(SIGSEGV);
  if (strcmp(end, "exit") == 0 && rank == 0) exit(3);
  // Rank 1 leaves out a call, or a request that nobody waits for.
  if (strcmp(end, "leave-out") == 0) {
    if (rank != 1) MPI_Alltoall(send, kBytes, MPI_BYTE, recv, kBytes, MPI_BYTE, MPI_COMM_WORLD);
  } else {
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Request request;
  if (strcmp(end, "request") == 0 && rank != 1) {
    MPI_Ialltoall(send, kBytes, MPI_BYTE, recv, kBytes, MPI_BYTE, MPI_COMM_WORLD, &request);
  }
  MPI_Finalize();
  free(send);
  free(recv);
  if (rank == 0) printf("CORRECT\n");
  return 0;
}
