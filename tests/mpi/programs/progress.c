// A blocking MPI call must let other traffic proceed. Rank 1 does not enter MPI_Alltoall before its
// message is through; it is too large to leave without rank 0's help. Usage: progress send|receive
#include "check.h"

enum { kBytes = 4 << 20 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int send = argc > 1 && strcmp(argv[1], "send") == 0;
  unsigned char* message = (unsigned char*)allocate(kBytes);
  const int sender = send ? 0 : 1;
  for (long i = 0; i < kBytes; ++i) message[i] = rank == sender ? pattern(0, 1, i, 9) : 0;

  exchange_bytes(MPI_COMM_WORLD, 100, 1);
  MPI_Request request = MPI_REQUEST_NULL;
  if (rank == 0 && send) MPI_Isend(message, kBytes, MPI_BYTE, 1, 3, MPI_COMM_WORLD, &request);
  if (rank == 0 && !send) MPI_Irecv(message, kBytes, MPI_BYTE, 1, 3, MPI_COMM_WORLD, &request);
  if (rank == 1 && send) {
    MPI_Recv(message, kBytes, MPI_BYTE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (rank == 1 && !send) MPI_Ssend(message, kBytes, MPI_BYTE, 0, 3, MPI_COMM_WORLD);
  exchange_bytes(MPI_COMM_WORLD, 5000, 2);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (rank == 1 - sender) {
    for (long i = 0; i < kBytes; ++i) expect(message[i] == pattern(0, 1, i, 9), "message");
  }
  MPI_Finalize();
  if (rank == 0) puts("CORRECT");
  return 0;
}
