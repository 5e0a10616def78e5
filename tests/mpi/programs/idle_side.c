// MPI_Neighbor_alltoall of a rank that has neighbours on one side alone: what it gives for the
// other side is not looked at. Ranks 0 to n-2 form a ring; rank 0 sends to rank n-1, too.
// Usage: idle_side CALLS INTS
#include "check.h"

// Open MPI's MPI_UNWEIGHTED is the address 2, which compilers take for an array.
#pragma GCC diagnostic ignored "-Wstringop-overread"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  expect(argc == 3, "usage: idle_side CALLS INTS");
  const int calls = atoi(argv[1]), ints = atoi(argv[2]);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int ring = ranks - 1, last = rank == ring;
  int from = last ? 0 : (rank + ring - 1) % ring;
  int to[2] = {(rank + 1) % ring, ring};
  const int outs = last ? 0 : rank == 0 ? 2 : 1;
  MPI_Comm graph;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &from, MPI_UNWEIGHTED, outs, to, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &graph);
  int* send = allocate(2 * (long)ints * (long)sizeof(int));
  int* recv = allocate((long)ints * (long)sizeof(int));
#ifdef MPICH_VERSION
  MPI_Datatype none = MPI_DATATYPE_NULL;
#else
  MPI_Datatype none = MPI_INT;  // Open MPI looks at it
#endif
  for (int call = 0; call < calls; ++call) {
    for (int i = 0; i < 2 * ints; ++i) send[i] = rank * 1000 + call + i % ints;
    memset(recv, 0, (size_t)ints * sizeof(int));
    const int code = MPI_Neighbor_alltoall(last ? NULL : send, last ? 0 : ints,
                                           last ? none : MPI_INT, recv, ints, MPI_INT, graph);
    expect(code == MPI_SUCCESS, "MPI_Neighbor_alltoall");
    for (int i = 0; i < ints; ++i) expect(recv[i] == from * 1000 + call + i, "what has come");
  }
  MPI_Comm_free(&graph);
  free(send);
  free(recv);
  MPI_Finalize();
  if (rank == 0) puts("CORRECT");
  return 0;
}
