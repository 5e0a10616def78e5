// Every collective once, blocking and not: prints EVERY COLLECTIVE RAN if none of them ended the
// job.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define BOTH(call, ...)                          \
  do {                                           \
    MPI_Request request;                         \
    MPI_##call(__VA_ARGS__, comm);               \
    MPI_I##call##_(__VA_ARGS__, comm, &request); \
    MPI_Wait(&request, MPI_STATUS_IGNORE);       \
  } while (0)

#define MPI_IBcast_ MPI_Ibcast
#define MPI_IReduce_ MPI_Ireduce
#define MPI_IAllreduce_ MPI_Iallreduce
#define MPI_IGather_ MPI_Igather
#define MPI_IGatherv_ MPI_Igatherv
#define MPI_IScatter_ MPI_Iscatter
#define MPI_IScatterv_ MPI_Iscatterv
#define MPI_IAllgather_ MPI_Iallgather
#define MPI_IAllgatherv_ MPI_Iallgatherv
#define MPI_IAlltoall_ MPI_Ialltoall
#define MPI_IAlltoallv_ MPI_Ialltoallv
#define MPI_IAlltoallw_ MPI_Ialltoallw
#define MPI_IReduce_scatter_ MPI_Ireduce_scatter
#define MPI_IReduce_scatter_block_ MPI_Ireduce_scatter_block
#define MPI_IScan_ MPI_Iscan
#define MPI_IExscan_ MPI_Iexscan
#define MPI_INeighbor_allgather_ MPI_Ineighbor_allgather
#define MPI_INeighbor_allgatherv_ MPI_Ineighbor_allgatherv
#define MPI_INeighbor_alltoall_ MPI_Ineighbor_alltoall
#define MPI_INeighbor_alltoallv_ MPI_Ineighbor_alltoallv
#define MPI_INeighbor_alltoallw_ MPI_Ineighbor_alltoallw

enum { kRanksMax = 8, kCount = 100 };
static int a[kRanksMax * kCount], b[kRanksMax * kCount];

static void everything(MPI_Comm comm, int ranks) {
  int counts[kRanksMax], places[kRanksMax], offsets[kRanksMax];
  MPI_Datatype types[kRanksMax];
  for (int i = 0; i < ranks; i++) {
    counts[i] = kCount;
    places[i] = i * kCount;
    offsets[i] = i * kCount * (int)sizeof(int);
    types[i] = MPI_INT;
  }
  MPI_Request request;
  MPI_Barrier(comm);
  MPI_Ibarrier(comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  BOTH(Bcast, a, kCount, MPI_INT, 0);
  BOTH(Reduce, a, b, kCount, MPI_INT, MPI_SUM, 0);
  BOTH(Allreduce, a, b, kCount, MPI_INT, MPI_SUM);
  BOTH(Gather, a, kCount, MPI_INT, b, kCount, MPI_INT, 0);
  BOTH(Gatherv, a, kCount, MPI_INT, b, counts, places, MPI_INT, 0);
  BOTH(Scatter, a, kCount, MPI_INT, b, kCount, MPI_INT, 0);
  BOTH(Scatterv, a, counts, places, MPI_INT, b, kCount, MPI_INT, 0);
  BOTH(Allgather, a, kCount, MPI_INT, b, kCount, MPI_INT);
  BOTH(Allgatherv, a, kCount, MPI_INT, b, counts, places, MPI_INT);
  BOTH(Alltoall, a, kCount, MPI_INT, b, kCount, MPI_INT);
  BOTH(Alltoall, MPI_IN_PLACE, kCount, MPI_INT, b, kCount, MPI_INT);
  BOTH(Alltoallv, a, counts, places, MPI_INT, b, counts, places, MPI_INT);
  BOTH(Alltoallw, a, counts, offsets, types, b, counts, offsets, types);
  BOTH(Reduce_scatter, a, b, counts, MPI_INT, MPI_SUM);
  BOTH(Reduce_scatter_block, a, b, kCount, MPI_INT, MPI_SUM);
  BOTH(Scan, a, b, kCount, MPI_INT, MPI_SUM);
  BOTH(Exscan, a, b, kCount, MPI_INT, MPI_SUM);
}

static void neighbours(int ranks) {
  int periods = 1, counts[2] = {kCount, kCount}, places[2] = {0, kCount};
  MPI_Aint offsets[2] = {0, kCount * sizeof(int)};
  MPI_Datatype types[2] = {MPI_INT, MPI_INT};
  MPI_Comm comm;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &periods, 0, &comm);
  BOTH(Neighbor_allgather, a, kCount, MPI_INT, b, kCount, MPI_INT);
  BOTH(Neighbor_allgatherv, a, kCount, MPI_INT, b, counts, places, MPI_INT);
  BOTH(Neighbor_alltoall, a, kCount, MPI_INT, b, kCount, MPI_INT);
  BOTH(Neighbor_alltoallv, a, counts, places, MPI_INT, b, counts, places, MPI_INT);
  BOTH(Neighbor_alltoallw, a, counts, offsets, types, b, counts, offsets, types);
  MPI_Comm_free(&comm);
}

int main(int count, char** words) {
  MPI_Init(&count, &words);
  int ranks, rank;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (ranks > kRanksMax) MPI_Abort(MPI_COMM_WORLD, 1);
  everything(MPI_COMM_WORLD, ranks);
  neighbours(ranks);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("EVERY COLLECTIVE RAN\n");
  MPI_Finalize();
  return 0;
}
