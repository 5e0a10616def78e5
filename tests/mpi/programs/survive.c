// Life after a death, by ULFM. Usage: survive WHAT
//
//   death    the last rank is killed between two exchanges; the others shrink and go on
//   revoked  rank 1 revokes the communicator while the others are in an exchange on it
//   started  the same of an exchange that MPI_Ialltoall has started
// clang-format off
#include "check.h"
#include <mpi-ext.h>  // takes what mpi.h defines
// clang-format on
#include <signal.h>

enum { kBytes = 20000, kCalls = 5 };

static int class_of(int code) {
  int class = MPI_SUCCESS;
  MPI_Error_class(code, &class);
  return class;
}

// Survivors go on together, and each call is right.
static void go_on(MPI_Comm broken) {
  MPI_Comm next;
  int ranks = 0, rank = 0;
  const double begin = MPI_Wtime();
  expect(MPIX_Comm_shrink(broken, &next) == MPI_SUCCESS, "MPIX_Comm_shrink");
  MPI_Comm_set_errhandler(next, MPI_ERRORS_RETURN);
  MPI_Comm_size(next, &ranks);
  MPI_Comm_rank(next, &rank);
  const double shrunk = MPI_Wtime();
  for (unsigned call = 0; call < kCalls; ++call) {
    expect(exchange_bytes(next, kBytes, 100 + call) == MPI_SUCCESS, "an exchange afterwards");
    if (rank == 0 && call == 0) {
      printf("SHRUNK %d ranks in %.3f s, first exchange in %.3f s\n", ranks, shrunk - begin,
             MPI_Wtime() - shrunk);
    }
  }
  MPI_Comm_free(&next);
}

static int exchange_started(MPI_Comm comm) {
  enum { kMax = 64 };
  static unsigned char send[kMax * kBytes], recv[kMax * kBytes];
  MPI_Request request;
  const int code = MPI_Ialltoall(send, kBytes, MPI_BYTE, recv, kBytes, MPI_BYTE, comm, &request);
  return code != MPI_SUCCESS ? code : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  int rank = 0, ranks = 0, level = 0;
  expect(argc == 2, "usage: survive death|revoked|started");
  const int started = strcmp(argv[1], "started") == 0;
  MPI_Init_thread(&argc, &argv, started ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int death = strcmp(argv[1], "death") == 0;
  for (unsigned call = 0; call < kCalls; ++call) {
    expect(exchange_bytes(MPI_COMM_WORLD, kBytes, call) == MPI_SUCCESS, "an exchange before");
  }
  if (death && rank == ranks - 1) raise(SIGKILL);
  const double begin = MPI_Wtime();
  if (!death && rank == 1) {
    usleep(500000);
    MPIX_Comm_revoke(MPI_COMM_WORLD);
  }
  const int code =
      started ? exchange_started(MPI_COMM_WORLD) : exchange_bytes(MPI_COMM_WORLD, kBytes, 50);
  const double waited = MPI_Wtime() - begin;
  // Who hears of the death first revokes the communicator, and others may hear of that.
  const int class = class_of(code);
  const int of_death = death && class == MPIX_ERR_PROC_FAILED;
  expect(of_death || class == MPIX_ERR_REVOKED, "the class of the error");
  if (rank == 0) printf("FAILED after %.3f s\n", waited);
  if (death) MPIX_Comm_revoke(MPI_COMM_WORLD);
  go_on(MPI_COMM_WORLD);
  if (rank == 0) {
    printf("CORRECT\n");
    fflush(stdout);
  }
  MPI_Finalize();
  return 0;
}
