// Types made by the constructors with large counts (MPI 4.0), in calls of both kinds.
#include "check.h"

#if MPI_VERSION >= 4

static unsigned char value(int rank, size_t at) { return (unsigned char)(rank * 37 + at * 11 + 5); }

// 1 at the bytes that the type covers, in blocks for all ranks.
static void mark(MPI_Datatype type, int ranks, size_t bytes, unsigned char* covered) {
  int size = 0;
  MPI_Pack_size(ranks, type, MPI_COMM_SELF, &size);
  unsigned char* ones = malloc(bytes);
  char* packed = malloc((size_t)size);
  memset(ones, 1, bytes);
  memset(covered, 0, bytes);
  int position = 0;
  MPI_Pack(ones, ranks, type, packed, size, &position, MPI_COMM_SELF);
  position = 0;
  MPI_Unpack(packed, size, &position, covered, ranks, type, MPI_COMM_SELF);
  free(ones);
  free(packed);
}

static void exchange(MPI_Datatype type, int large) {
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Count lower = 0, extent = 0;
  MPI_Type_get_extent_c(type, &lower, &extent);
  const size_t bytes = (size_t)(ranks * extent) + 64;  // beyond the extent of the last, for some
  unsigned char* out = malloc(bytes);
  unsigned char* in = malloc(bytes);
  unsigned char* covered = malloc(bytes);
  mark(type, ranks, bytes, covered);
  for (size_t i = 0; i < bytes; ++i) out[i] = value(rank, i);
  memset(in, 0xee, bytes);
  if (large) {
    MPI_Count* counts = malloc((size_t)ranks * sizeof *counts);
    MPI_Aint* places = malloc((size_t)ranks * sizeof *places);
    for (int i = 0; i < ranks; ++i) {
      counts[i] = 1;
      places[i] = i;
    }
    MPI_Alltoallv_c(out, counts, places, type, in, counts, places, type, MPI_COMM_WORLD);
    free(counts);
    free(places);
  } else {
    MPI_Alltoall(out, 1, type, in, 1, type, MPI_COMM_WORLD);
  }
  for (size_t i = 0; i < bytes; ++i) {
    const int from = (int)(i / (size_t)extent);
    const size_t sent = (size_t)rank * (size_t)extent + i % (size_t)extent;
    const unsigned char wanted = covered[i] ? value(from, sent) : 0xee;
    expect(in[i] == wanted, "a byte is wrong");
  }
  free(out);
  free(in);
  free(covered);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Datatype types[5];
  MPI_Count lengths[2] = {2, 2}, places[2] = {0, 16}, together[2] = {0, 8};
  MPI_Datatype parts[2] = {MPI_INT, MPI_INT};
  MPI_Type_contiguous_c(4, MPI_INT, &types[0]);
  MPI_Type_vector_c(2, 2, 4, MPI_INT, &types[1]);
  MPI_Type_create_hindexed_c(2, lengths, places, MPI_INT, &types[2]);
  MPI_Type_create_struct_c(2, lengths, together, parts, &types[3]);
  MPI_Type_create_resized_c(types[0], 0, 32, &types[4]);
  for (int i = 0; i < 5; ++i) {
    MPI_Type_commit(&types[i]);
    for (int large = 0; large < 2; ++large) {
      for (int call = 0; call < 2; ++call) exchange(types[i], large);
    }
  }
  for (int i = 0; i < 5; ++i) MPI_Type_free(&types[i]);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Finalize();
  if (rank == 0) puts("CORRECT");
  return 0;
}

#else

int main(void) { return 0; }

#endif
