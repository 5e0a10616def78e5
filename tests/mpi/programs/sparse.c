// MPI_Alltoallv around a ring: each rank has something for the one after it and for the one before
// it, and nothing for others. Every byte is checked.
// Usage: sparse CALLS BYTES
#include "check.h"

int main(int argc, char** argv) {
  int rank = 0, ranks = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  expect(argc == 3, "usage: sparse CALLS BYTES");
  const int calls = atoi(argv[1]);
  const int bytes = atoi(argv[2]);
  const int partners[2] = {(rank + ranks - 1) % ranks, (rank + 1) % ranks};
  int* counts = (int*)allocate((long)sizeof(int) * ranks);
  int* at = (int*)allocate((long)sizeof(int) * ranks);
  unsigned char* send = (unsigned char*)allocate(2L * bytes);
  unsigned char* recv = (unsigned char*)allocate(2L * bytes);
  for (int i = 0; i < ranks; ++i) counts[i] = at[i] = 0;
  for (int i = 0; i < 2; ++i) counts[partners[i]] = bytes, at[partners[i]] = i * bytes;
  for (unsigned call = 0; call < (unsigned)calls; ++call) {
    for (long i = 0; i < 2L * bytes; ++i) {
      send[i] = pattern(rank, partners[i / bytes], i % bytes, call);
    }
    memset(recv, 0xa5, 2 * (size_t)bytes);
    expect(MPI_Alltoallv(send, counts, at, MPI_BYTE, recv, counts, at, MPI_BYTE, MPI_COMM_WORLD) ==
               MPI_SUCCESS,
           "error code");
    for (long i = 0; i < 2L * bytes; ++i) {
      expect(recv[i] == pattern(partners[i / bytes], rank, i % bytes, call), "received bytes");
    }
  }
  MPI_Finalize();
  if (rank == 0) printf("CORRECT\n");
  return 0;
}
