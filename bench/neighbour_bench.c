// Times exchanges among few partners: MPI_Neighbor_alltoall on a random graph, or MPI_Alltoallv
// with the same counts, zero for all others. Every byte is checked in the first and the last call.
//
//   neighbour_bench neighbour|alltoallv SEED LEAST MOST BYTES CALLS WARM_UP
//
// Every rank has LEAST to MOST partners, as far as a random graph allows. Rank 0 prints the edges,
// then the mean time of a call over CALLS calls after WARM_UP others.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kRanksMax = 256 };

static unsigned char edges[kRanksMax][kRanksMax];
static unsigned long state;

static int draw(int below) {
  state = state * 6364136223846793005ul + 1442695040888963407ul;
  return (int)((state >> 33) % (unsigned long)below);
}

static void make_graph(int ranks, int least, int most) {
  int degree[kRanksMax] = {0}, wanted[kRanksMax];
  for (int i = 0; i < ranks; ++i) wanted[i] = least + draw(most - least + 1);
  for (int tries = 0; tries < 100 * ranks; ++tries) {
    const int a = draw(ranks), b = draw(ranks);
    if (a == b || edges[a][b] || degree[a] >= wanted[a] || degree[b] >= wanted[b]) continue;
    edges[a][b] = edges[b][a] = 1;
    ++degree[a];
    ++degree[b];
  }
}

static unsigned char pattern(int from, int to, long at) {
  return (unsigned char)(from * 37 + to * 11 + at * 3 + 1);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 8 || ranks > kRanksMax) MPI_Abort(MPI_COMM_WORLD, 2);
  const int neighbour = strcmp(argv[1], "neighbour") == 0;
  state = strtoul(argv[2], NULL, 10);
  const long bytes = atol(argv[5]);
  const int calls = atoi(argv[6]), warm_up = atoi(argv[7]);
  make_graph(ranks, atoi(argv[3]), atoi(argv[4]));

  int peers[kRanksMax], weights[kRanksMax], degree = 0;
  int counts[kRanksMax] = {0}, at[kRanksMax] = {0};
  for (int peer = 0; peer < ranks; ++peer) {
    if (!edges[rank][peer]) continue;
    counts[peer] = (int)bytes;
    at[peer] = (int)(degree * bytes);
    weights[degree] = 1;
    peers[degree++] = peer;
  }
  MPI_Comm graph;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degree, peers, weights, degree, peers, weights,
                                 MPI_INFO_NULL, 0, &graph);
  unsigned char* send = malloc((size_t)(degree * bytes + 1));
  unsigned char* recv = malloc((size_t)(degree * bytes + 1));
  for (int i = 0; i < degree; ++i) {
    for (long b = 0; b < bytes; ++b) send[i * bytes + b] = pattern(rank, peers[i], b);
  }
  double begin = 0;
  for (int call = 0; call < warm_up + calls; ++call) {
    if (call == warm_up) {
      MPI_Barrier(MPI_COMM_WORLD);
      begin = MPI_Wtime();
    }
    const int checked = call == 0 || call == warm_up + calls - 1;
    if (checked) memset(recv, 0, (size_t)(degree * bytes));
    if (neighbour) {
      MPI_Neighbor_alltoall(send, (int)bytes, MPI_BYTE, recv, (int)bytes, MPI_BYTE, graph);
    } else {
      MPI_Alltoallv(send, counts, at, MPI_BYTE, recv, counts, at, MPI_BYTE, MPI_COMM_WORLD);
    }
    for (int i = 0; checked && i < degree; ++i) {
      for (long b = 0; b < bytes; ++b) {
        if (recv[i * bytes + b] == pattern(peers[i], rank, b)) continue;
        fprintf(stderr, "WRONG: rank %d, from %d, byte %ld\n", rank, peers[i], b);
        MPI_Abort(MPI_COMM_WORLD, 1);
      }
    }
  }
  double each = (MPI_Wtime() - begin) / calls, slowest = 0;
  MPI_Reduce(&each, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    for (int from = 0; from < ranks; ++from) {
      for (int to = 0; to < ranks; ++to) {
        if (edges[from][to]) printf("EDGE %d %d\n", from, to);
      }
    }
    printf("SECONDS %.9f\n", slowest);
  }
  MPI_Comm_free(&graph);
  MPI_Finalize();
  return 0;
}
