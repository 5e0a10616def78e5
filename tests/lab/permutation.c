// One MPI_Alltoallv in which rank i sends to rank i + shift alone; all bytes are checked. Rank 0
// says when the call began and ended, on CLOCK_MONOTONIC, after a small one that opens everything.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../mpi/programs/finalize.h"

static unsigned char pattern(int from, size_t at) {
  return (unsigned char)((size_t)from * 31 + at * 7 + at / 251);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int bytes = argc > 1 ? atoi(argv[1]) : 1000;
  const int shift = argc > 2 ? atoi(argv[2]) : 1;
  const int calls = argc > 3 ? atoi(argv[3]) : 1;
  const int to = (rank + shift) % ranks, from = (rank + ranks - shift) % ranks;
  unsigned char* out = malloc((size_t)bytes);
  unsigned char* in = calloc((size_t)bytes, 1);
  for (size_t i = 0; i < (size_t)bytes; ++i) out[i] = pattern(rank, i);
  int* send = calloc((size_t)ranks, sizeof *send);
  int* recv = calloc((size_t)ranks, sizeof *recv);
  int* zeros = calloc((size_t)ranks, sizeof *zeros);
  double begin = 0, end = 0;
  for (int call = 0; call <= calls; ++call) {
    send[to] = recv[from] = call == 0 ? 20000 : bytes;
    MPI_Barrier(MPI_COMM_WORLD);
    if (call == 1) begin = now();
    MPI_Alltoallv(out, send, zeros, MPI_BYTE, in, recv, zeros, MPI_BYTE, MPI_COMM_WORLD);
    end = now();
  }
  long wrong = 0, wrong_in_all = 0;
  for (size_t i = 0; i < (size_t)bytes; ++i) wrong += in[i] != pattern(from, i);
  MPI_Reduce(&wrong, &wrong_in_all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  double last = 0;
  MPI_Reduce(&end, &last, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("begin %.6f end %.6f wrong %ld\n", begin, last, wrong_in_all);
  MPI_Finalize();
  free(zeros);
  free(recv);
  free(send);
  free(in);
  free(out);
  return wrong_in_all != 0;
}
