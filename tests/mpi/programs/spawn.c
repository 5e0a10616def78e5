// Starts as many more processes as there are and exchanges among all of them. Usage: spawn
#include "check.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm parent, inter, all;
  int rank = 0, ranks = 0, world_ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &world_ranks);
  MPI_Comm_get_parent(&parent);
  exchange_bytes(MPI_COMM_WORLD, 2000, 1);
  if (parent == MPI_COMM_NULL) {
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, world_ranks, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                   MPI_ERRCODES_IGNORE);
  } else {
    inter = parent;
  }
  MPI_Intercomm_merge(inter, parent != MPI_COMM_NULL, &all);
  MPI_Comm_rank(all, &rank);
  MPI_Comm_size(all, &ranks);
  expect(ranks == 2 * world_ranks, "not all were merged");
  for (unsigned call = 2; call < 5; ++call) {
    exchange_bytes(all, 3000, call);
    exchange_bytes(MPI_COMM_WORLD, 500, call);
  }
  MPI_Comm_free(&all);
  MPI_Comm_disconnect(&inter);
  MPI_Finalize();
  if (rank == 0) puts("CORRECT");
  return 0;
}
