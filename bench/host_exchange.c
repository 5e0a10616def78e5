// What the busiest rank of two hosts pays for MPI_Alltoall, for bench/fast_network.sh. Plain MPI.
//
//   host_exchange BYTES CALLS    BYTES from host to host in each call, by all their ranks together
//
// Rank 0 prints a line of JSON: the processor seconds (user and system) of the busiest rank, its
// threads included, the seconds by the clock, and the bytes a host has sent. Ranks come in halves,
// one on each host.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { kWarm = 10 };

static double processor_seconds(void) {
  struct rusage used;
  if (getrusage(RUSAGE_SELF, &used) != 0) return 0;
  return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int ranks = 0;
  int rank = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const long bytes = argc > 1 ? atol(argv[1]) : 0;
  const long calls = argc > 2 ? atol(argv[2]) : 0;
  const int here = ranks / 2;
  if (bytes <= 0 || calls <= 0 || ranks % 2 != 0) {
    if (rank == 0)
      fprintf(stderr, "usage: host_exchange BYTES CALLS, on an even number of ranks\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const int each = (int)(bytes / here / here);
  const size_t all = (size_t)each * (size_t)ranks;
  unsigned char* send = malloc(all);
  unsigned char* recv = malloc(all);
  if (send == NULL || recv == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  memset(recv, 0, all);
  for (int to = 0; to < ranks; ++to) {
    memset(send + (size_t)to * (size_t)each, 1 + rank * ranks + to, (size_t)each);
  }
  for (int call = 0; call < kWarm; ++call) {
    MPI_Alltoall(send, each, MPI_BYTE, recv, each, MPI_BYTE, MPI_COMM_WORLD);
  }
  double used[2] = {-processor_seconds(), -MPI_Wtime()};
  for (long call = 0; call < calls; ++call) {
    MPI_Alltoall(send, each, MPI_BYTE, recv, each, MPI_BYTE, MPI_COMM_WORLD);
  }
  used[0] += processor_seconds();
  used[1] += MPI_Wtime();
  for (size_t i = 0; i < all; ++i) {
    const int from = (int)(i / (size_t)each);
    if (recv[i] == (unsigned char)(1 + from * ranks + rank)) continue;
    fprintf(stderr, "host_exchange: rank %d has a wrong byte from rank %d\n", rank, from);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  double most[2];
  MPI_Reduce(used, most, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    printf(
        "{\"ranks_per_host\": %d, \"busiest_cpu_s\": %.6f, \"seconds\": %.6f, \"bytes\": %.0f}\n",
        here, most[0], most[1], (double)each * here * here * (double)calls);
  }
  free(send);
  free(recv);
  MPI_Finalize();
  return 0;
}
