// Every rank sends its own pattern to every other and checks what it gets; rank 0 reports.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../mpi/programs/finalize.h"

// Connections over IPv6 of this host, whoever has them.
static long ipv6_connections(void) {
  FILE* file = fopen("/proc/self/net/tcp6", "r");
  char line[512];
  long found = 0;
  while (file != NULL && fgets(line, sizeof line, file) != NULL)
    found += strstr(line, " 01 ") != NULL;
  if (file != NULL) fclose(file);
  return found;
}

static unsigned char pattern(int from, int to) { return (unsigned char)(from * 31 + to * 7 + 1); }

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  size_t bytes = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
  unsigned char* out = malloc(bytes * (size_t)ranks);
  unsigned char* in = calloc((size_t)ranks, bytes);
  for (int to = 0; to < ranks; ++to) memset(out + bytes * (size_t)to, pattern(rank, to), bytes);
  MPI_Alltoall(out, (int)bytes, MPI_BYTE, in, (int)bytes, MPI_BYTE, MPI_COMM_WORLD);
  long wrong = 0, wrong_in_all = 0;
  for (int from = 0; from < ranks; ++from)
    for (size_t i = 0; i < bytes; ++i) wrong += in[bytes * (size_t)from + i] != pattern(from, rank);
  MPI_Reduce(&wrong, &wrong_in_all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);

  long ipv6 = ipv6_connections(), ipv6_in_all = 0;
  MPI_Reduce(&ipv6, &ipv6_in_all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);

  // Host names in rank order, so that the test sees where each rank runs.
  char host[64] = {0};
  gethostname(host, sizeof host - 1);
  char* hosts = malloc(sizeof host * (size_t)ranks);
  MPI_Gather(host, sizeof host, MPI_CHAR, hosts, sizeof host, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("ranks %d wrong %ld ipv6 %ld variable %s hosts", ranks, wrong_in_all, ipv6_in_all,
           getenv("ALLEMANDE_LAB_TEST") ? getenv("ALLEMANDE_LAB_TEST") : "-");
    for (int i = 0; i < ranks; ++i) printf(" %s", hosts + sizeof host * (size_t)i);
    printf("\n");
  }
  MPI_Finalize();
  free(hosts);
  free(in);
  free(out);
  return wrong_in_all != 0;
}
