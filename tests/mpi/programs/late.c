// One rank, or all but one, come late to MPI_Finalize. Usage: late RANK SECONDS; -RANK-1 means all
// but that one.
#include "check.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int who = argc > 1 ? atoi(argv[1]) : 0;
  const unsigned seconds = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
  for (unsigned call = 0; call < 3; ++call) exchange_bytes(MPI_COMM_WORLD, 20000, call);
  MPI_Barrier(MPI_COMM_WORLD);
  if (who >= 0 ? rank == who : rank != -who - 1) sleep(seconds);
  MPI_Finalize();
  if (rank == 0) puts("CORRECT");
  return 0;
}
