// Sorts keys that lie on all ranks (sample sort).
//
// Each rank sorts its own and offers a few of them as samples. From all samples come the bounds
// that divide the keys among the ranks; MPI_Alltoallv carries every key to where it belongs, and
// each rank merges what it got. Blocks are of about equal size, but no two quite.
//
//   mpicc -O2 sample_sort.c && mpirun -n 32 ./a.out [keys [repeats]]
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kSamples = 64 };  // of each rank

static int rank, ranks;

static void* allocate(size_t bytes) {
  void* memory = malloc(bytes > 0 ? bytes : 1);
  if (memory == NULL) {
    fprintf(stderr, "sample_sort: no memory for %zu bytes\n", bytes);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return memory;
}

static int compare(const void* left, const void* right) {
  const uint64_t a = *(const uint64_t*)left, b = *(const uint64_t*)right;
  return a < b ? -1 : a > b;
}

static uint64_t mixed(uint64_t word) {  // splitmix64
  word += 0x9e3779b97f4a7c15u;
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
  word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
  return word ^ (word >> 31);
}

// The first of `count` sorted keys that is not below `bound`.
static int lower_bound(const uint64_t* keys, int count, uint64_t bound) {
  int low = 0, high = count;
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (keys[middle] < bound)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// From the samples of all ranks, the least key of each rank but the first.
static void choose_bounds(const uint64_t* keys, int count, uint64_t* bounds) {
  uint64_t mine[kSamples];
  uint64_t* all = allocate(sizeof(uint64_t) * kSamples * (size_t)ranks);
  for (int i = 0; i < kSamples; ++i) {
    mine[i] = count > 0 ? keys[(int64_t)count * (2 * i + 1) / (2 * kSamples)] : 0;
  }
  MPI_Allgather(mine, kSamples, MPI_UINT64_T, all, kSamples, MPI_UINT64_T, MPI_COMM_WORLD);
  qsort(all, (size_t)(kSamples * ranks), sizeof *all, compare);
  for (int i = 1; i < ranks; ++i) bounds[i] = all[i * kSamples];
  free(all);
}

// Turns `count` sorted keys here into this rank's part of all; returns how many that are.
static int redistribute(const uint64_t* keys, int count, const uint64_t* bounds, uint64_t** sorted,
                        double* communication) {
  int* counts = allocate(sizeof(int) * 4 * (size_t)ranks);
  int *places = counts + ranks, *in_counts = counts + 2 * ranks, *in_places = counts + 3 * ranks;
  for (int to = 0; to < ranks; ++to) {
    places[to] = to == 0 ? 0 : lower_bound(keys, count, bounds[to]);
    if (to > 0) counts[to - 1] = places[to] - places[to - 1];
  }
  counts[ranks - 1] = count - places[ranks - 1];

  MPI_Barrier(MPI_COMM_WORLD);  // so that the time is that of the exchange
  const double begin = MPI_Wtime();
  MPI_Alltoall(counts, 1, MPI_INT, in_counts, 1, MPI_INT, MPI_COMM_WORLD);
  int total = 0;
  for (int from = 0; from < ranks; ++from) {
    in_places[from] = total;
    total += in_counts[from];
  }
  *sorted = allocate(sizeof(uint64_t) * (size_t)total);
  MPI_Alltoallv(keys, counts, places, MPI_UINT64_T, *sorted, in_counts, in_places, MPI_UINT64_T,
                MPI_COMM_WORLD);
  *communication += MPI_Wtime() - begin;
  qsort(*sorted, (size_t)total, sizeof **sorted, compare);
  free(counts);
  return total;
}

// Every key there, every rank sorted, no rank's keys below those of the rank before.
static int is_sorted(const uint64_t* sorted, int total, int64_t keys) {
  int right = 1;
  for (int i = 1; i < total; ++i) right &= sorted[i - 1] <= sorted[i];
  const uint64_t ends[2] = {total > 0 ? sorted[0] : 0, total > 0 ? sorted[total - 1] : 0};
  uint64_t* all = allocate(sizeof ends * (size_t)ranks);
  MPI_Allgather(ends, 2, MPI_UINT64_T, all, 2, MPI_UINT64_T, MPI_COMM_WORLD);
  for (int i = 1; i < ranks; ++i) right &= all[2 * i - 1] <= all[2 * i];
  free(all);
  int64_t there = total;
  MPI_Allreduce(MPI_IN_PLACE, &there, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  right &= there == keys;
  MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return right;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int64_t keys = argc > 1 ? atoll(argv[1]) : 10000000;
  const int repeats = argc > 2 ? atoi(argv[2]) : 3;
  const int64_t first = keys * rank / ranks;
  const int count = (int)(keys * (rank + 1) / ranks - first);
  uint64_t* mine = allocate(sizeof(uint64_t) * (size_t)count);
  uint64_t* bounds = allocate(sizeof(uint64_t) * (size_t)ranks);

  int right = 1;
  uint64_t result = 0;
  double times[2] = {0, 0};  // all of it, the exchange
  for (int repeat = -1; repeat < repeats; ++repeat) {
    if (repeat == 0) times[0] = times[1] = 0;  // the first connects the ranks: not measured
    for (int i = 0; i < count; ++i) mine[i] = mixed((uint64_t)(first + i));
    uint64_t* sorted = NULL;
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    qsort(mine, (size_t)count, sizeof *mine, compare);
    choose_bounds(mine, count, bounds);
    const int total = redistribute(mine, count, bounds, &sorted, &times[1]);
    times[0] += MPI_Wtime() - begin;
    right &= is_sorted(sorted, total, keys);
    result = 0;
    for (int i = 0; i < total; ++i) result = mixed(result ^ sorted[i]);
    free(sorted);
  }

  MPI_Allreduce(MPI_IN_PLACE, &result, 1, MPI_UINT64_T, MPI_BXOR, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, times, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("size %lld keys on %d ranks\n", (long long)keys, ranks);
    printf("result %016llx\n", (unsigned long long)result);
    printf("sorted %s\n", right ? "yes" : "no");
    printf("seconds %.4f\n", times[0] / repeats);
    printf("communication %.4f\n", times[1] / repeats);
  }
  free(bounds);
  free(mine);
  MPI_Finalize();
  return right ? 0 : 1;
}
