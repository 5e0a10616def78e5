// Types that swap two bytes of eight, whichever they are: what comes is in the order of the type.
#include "check.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  enum { kBytes = 8, kElements = 40 };
  const long size = (long)ranks * kElements * kBytes;
  unsigned char* send = allocate(size);
  unsigned char* recv = allocate(size);
  for (int a = 0; a < kBytes; ++a) {
    for (int b = a; b < kBytes; ++b) {
      int lengths[kBytes], at[kBytes];
      for (int i = 0; i < kBytes; ++i) lengths[i] = 1, at[i] = i;
      at[a] = b, at[b] = a;
      MPI_Datatype type;
      MPI_Type_indexed(kBytes, lengths, at, MPI_BYTE, &type);
      MPI_Type_commit(&type);
      for (long i = 0; i < size; ++i) send[i] = (unsigned char)(i % kBytes);
      memset(recv, 255, (size_t)size);
      MPI_Alltoall(send, kElements, type, recv, kElements * kBytes, MPI_BYTE, MPI_COMM_WORLD);
      for (long i = 0; i < size; ++i) expect(recv[i] == at[i % kBytes], "the order of the type");
      MPI_Type_free(&type);
    }
  }
  free(send);
  free(recv);
  MPI_Finalize();
  if (rank == 0) puts("CORRECT");
  return 0;
}
