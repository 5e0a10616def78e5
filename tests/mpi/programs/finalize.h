// Test programs end the same way under every MPI.
#pragma once

#include <mpi.h>

#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40200000
// Over UCX these releases hang in MPI_Finalize now and then, with or without allemande: ranks that
// wait there no longer answer those whose connections are not settled (pmodels/mpich#6596).
static inline int settle_and_finalize(void) {
  const double begin = MPI_Wtime();
  int found = 0;
  while (MPI_Wtime() - begin < 0.3) {
    MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_SELF, &found, MPI_STATUS_IGNORE);
  }
  return MPI_Finalize();
}
#define MPI_Finalize settle_and_finalize
#endif
