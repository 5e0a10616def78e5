// Buffers that a GPU runtime takes for its own, on some ranks. Usage: device LIBRARY RANK...
// LIBRARY is loaded by the ranks named, which pass such buffers in every other round. Prefixed with
// "late:" it is loaded after MPI_Init.
#define _GNU_SOURCE
#include <dlfcn.h>

#include "check.h"

enum { kRanksMax = 64, kCount = 300 };

static void load(const char* library, void* at, size_t bytes) {
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  expect(handle != NULL, "the library loads");
  void (*mark)(void*, size_t) = NULL;
  *(void**)&mark = dlsym(handle, "fake_cuda_mark");
  expect(mark != NULL, "fake_cuda_mark");
  mark(at, bytes);
}

static int self_of_launcher(void) {
  const char* text = getenv("OMPI_COMM_WORLD_RANK");
  if (!text) text = getenv("PMI_RANK");
  return text ? atoi(text) : -1;
}

int main(int argc, char** argv) {
  static int send[kRanksMax * kCount], host[kRanksMax * kCount], device[kRanksMax * kCount];
  int rank = 0, ranks = 0, counts[kRanksMax], at[kRanksMax], at_bytes[kRanksMax], mine = 0;
  MPI_Datatype types[kRanksMax];
  const char* library = argc > 1 ? argv[1] : "";
  const int late = strncmp(library, "late:", 5) == 0;
  for (int i = 2; i < argc; ++i) mine |= atoi(argv[i]) == self_of_launcher();
  if (mine && !late) load(library, device, sizeof device);
  MPI_Init(&argc, &argv);
  if (mine && late) load(library + 5, device, sizeof device);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 0; i < ranks; ++i) {
    counts[i] = kCount;
    at[i] = i * kCount;
    at_bytes[i] = i * kCount * (int)sizeof(int);
    types[i] = MPI_INT;
  }
  for (int round = 0; round < 12; ++round) {
    int* recv = mine && round % 2 ? device : host;
    for (int i = 0; i < ranks * kCount; ++i) {
      send[i] = 1000000 * round + 1000 * rank + i / kCount;
      recv[i] = -1;
    }
    switch (round / 2 % 3) {
      case 0:
        MPI_Alltoall(send, kCount, MPI_INT, recv, kCount, MPI_INT, MPI_COMM_WORLD);
        break;
      case 1:
        MPI_Alltoallv(send, counts, at, MPI_INT, recv, counts, at, MPI_INT, MPI_COMM_WORLD);
        break;
      default:
        MPI_Alltoallw(send, counts, at_bytes, types, recv, counts, at_bytes, types, MPI_COMM_WORLD);
    }
    for (int i = 0; i < ranks * kCount; ++i) {
      expect(recv[i] == 1000000 * round + 1000 * (i / kCount) + rank, "received");
    }
  }
  MPI_Finalize();
  if (rank == 0) printf("CORRECT\n");
  return 0;
}
