// The ranks start one more process and exchange with it. Usage: spawn_one
#include <mpi.h>
#include <stdio.h>

#include "../mpi/programs/finalize.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm parent, inter, all;
  MPI_Comm_get_parent(&parent);
  if (parent == MPI_COMM_NULL) {
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                   MPI_ERRCODES_IGNORE);
  } else {
    inter = parent;
  }
  MPI_Intercomm_merge(inter, parent != MPI_COMM_NULL, &all);
  int rank, ranks;
  MPI_Comm_rank(all, &rank);
  MPI_Comm_size(all, &ranks);
  int out[64], in[64], wrong = ranks > 64;
  for (int to = 0; to < ranks && !wrong; ++to) out[to] = 100 * rank + to;
  if (!wrong) MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, all);
  for (int from = 0; from < ranks && !wrong; ++from) wrong = in[from] != 100 * from + rank;
  if (rank == 0) printf("ranks %d %s\n", ranks, wrong ? "WRONG" : "right");
  MPI_Comm_free(&all);
  MPI_Comm_disconnect(&inter);
  MPI_Finalize();
  return wrong;
}
