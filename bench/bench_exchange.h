// One exchange: what each rank sends to whom, the buffers, the call and the check of every byte.
#pragma once

#include <inttypes.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_options.h"
#include "bench_pattern.h"

enum { kGuardBytes = 64, kGuardValue = 0xA5 };

// What this rank exchanges, by peer; blocks lie one after another. `send` and `receive` are the
// totals.
struct traffic {
  int* send_count;
  int* send_offset;
  int* receive_count;
  int* receive_offset;
  MPI_Datatype* types;
  size_t send, receive;
};

struct buffers {
  unsigned char* send;
  unsigned char* receive_base;  // guard, data, guard
};

static inline void* need(size_t count, size_t each) {
  void* memory = calloc(count > 0 ? count : 1, each);
  if (!memory) {
    fprintf(stderr, "alltoall_bench: no memory for %zu bytes; use smaller --sizes\n", count * each);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return memory;
}

static inline struct traffic make_traffic(int ranks) {
  const size_t count = (size_t)ranks;
  struct traffic traffic = {.send_count = need(count, sizeof(int)),
                            .send_offset = need(count, sizeof(int)),
                            .receive_count = need(count, sizeof(int)),
                            .receive_offset = need(count, sizeof(int)),
                            .types = need(count, sizeof(MPI_Datatype)),
                            .send = 0,
                            .receive = 0};
  for (int peer = 0; peer < ranks; ++peer) traffic.types[peer] = MPI_BYTE;
  return traffic;
}

static inline void free_traffic(struct traffic* traffic) {
  free(traffic->send_count);
  free(traffic->send_offset);
  free(traffic->receive_count);
  free(traffic->receive_offset);
  free(traffic->types);
}

// The bytes per pair of one size and step: the whole matrix, freed by the caller. NULL if there is
// none.
static inline int64_t* read_matrix(const char* path, int index, int ranks) {
  if (!path) return NULL;
  const size_t count = (size_t)ranks * (size_t)ranks;
  int64_t* values = need(count, sizeof *values);
  FILE* file = fopen(path, "rb");
  const bool found = file &&
                     fseek(file, (long)((size_t)index * count * sizeof *values), SEEK_SET) == 0 &&
                     fread(values, sizeof *values, count, file) == count;
  if (file) fclose(file);
  if (found) return values;
  free(values);
  return NULL;
}

// Every rank sees the whole file and comes to the same answer; rank 0 says what is wrong.
static inline bool check_matrix(const struct options* options, int rank, int ranks) {
  const int matrices = options->size_count * (int)options->steps;
  for (int index = 0; options->matrix && index < matrices; ++index) {
    int64_t* matrix = read_matrix(options->matrix, index, ranks);
    if (!matrix && rank == 0) {
      fprintf(stderr, "alltoall_bench: %s holds no %d x %d numbers in place %d\n", options->matrix,
              ranks, ranks, index + 1);
    }
    bool good = matrix != NULL;
    for (int from = 0; good && from < ranks; ++from) {
      int64_t sent = 0, received = 0;
      for (int to = 0; good && to < ranks; ++to) {
        const int64_t bytes = matrix[(size_t)from * (size_t)ranks + (size_t)to];
        good = bytes >= 0 && bytes <= INT32_MAX;
        sent += bytes;
        received += matrix[(size_t)to * (size_t)ranks + (size_t)from];
        if (!good && rank == 0) {
          fprintf(stderr, "alltoall_bench: %s: a block of %" PRId64 " bytes\n", options->matrix,
                  bytes);
        }
      }
      if (good && (sent > INT32_MAX || received > INT32_MAX)) {
        good = false;
        if (rank == 0) {
          fprintf(stderr, "alltoall_bench: %s: more than %d bytes of rank %d\n", options->matrix,
                  INT32_MAX, from);
        }
      }
    }
    free(matrix);
    if (!good) return false;
  }
  return true;
}

static inline void add_block(int64_t bytes, int* count, int* offset, size_t* total) {
  *count = (int)bytes;
  // Offsets of MPI_Alltoall itself are never looked at, and may be beyond an int.
  *offset = (int)*total;
  *total += (size_t)bytes;
}

static inline void set_traffic(struct traffic* traffic, const struct options* options, int index,
                               int step, int rank, int ranks) {
  int64_t* matrix = read_matrix(options->matrix, index * (int)options->steps + step, ranks);
  traffic->send = traffic->receive = 0;
  for (int peer = 0; peer < ranks; ++peer) {
    int64_t out = options->sizes[index];
    int64_t in = options->sizes[index];
    if (matrix) {
      out = matrix[(size_t)rank * (size_t)ranks + (size_t)peer];
      in = matrix[(size_t)peer * (size_t)ranks + (size_t)rank];
    }
    add_block(out, &traffic->send_count[peer], &traffic->send_offset[peer], &traffic->send);
    add_block(in, &traffic->receive_count[peer], &traffic->receive_offset[peer], &traffic->receive);
  }
  free(matrix);
}

static inline void fill(const struct traffic* traffic, struct buffers* buffers, int rank, int ranks,
                        uint64_t call_key) {
  unsigned char* block = buffers->send;
  for (int target = 0; target < ranks; ++target) {
    const size_t bytes = (size_t)traffic->send_count[target];
    pattern_fill(block, bytes, pattern_key(call_key, rank, target));
    block += bytes;
  }
  // Anew for each call: what one call does counts once.
  memset(buffers->receive_base, kGuardValue, kGuardBytes);
  memset(buffers->receive_base + kGuardBytes + traffic->receive, kGuardValue, kGuardBytes);
}

static inline void call_collective(enum collective collective, const struct traffic* traffic,
                                   const struct buffers* buffers, MPI_Comm comm) {
  unsigned char* data = buffers->receive_base + kGuardBytes;
  MPI_Request request = MPI_REQUEST_NULL;
  switch (collective) {
    case kAlltoallv:
      MPI_Alltoallv(buffers->send, traffic->send_count, traffic->send_offset, MPI_BYTE, data,
                    traffic->receive_count, traffic->receive_offset, MPI_BYTE, comm);
      return;
    case kAlltoallw:
      MPI_Alltoallw(buffers->send, traffic->send_count, traffic->send_offset, traffic->types, data,
                    traffic->receive_count, traffic->receive_offset, traffic->types, comm);
      return;
    case kIalltoall:
      MPI_Ialltoall(buffers->send, traffic->send_count[0], MPI_BYTE, data,
                    traffic->receive_count[0], MPI_BYTE, comm, &request);
      break;
    case kIalltoallv:
      MPI_Ialltoallv(buffers->send, traffic->send_count, traffic->send_offset, MPI_BYTE, data,
                     traffic->receive_count, traffic->receive_offset, MPI_BYTE, comm, &request);
      break;
    case kIalltoallw:
      MPI_Ialltoallw(buffers->send, traffic->send_count, traffic->send_offset, traffic->types, data,
                     traffic->receive_count, traffic->receive_offset, traffic->types, comm,
                     &request);
      break;
    default:
      MPI_Alltoall(buffers->send, traffic->send_count[0], MPI_BYTE, data, traffic->receive_count[0],
                   MPI_BYTE, comm);
      return;
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

// Number of wrong bytes.
static inline uint64_t check(const struct traffic* traffic, const struct buffers* buffers, int rank,
                             int ranks, uint64_t call_key) {
  const unsigned char* data = buffers->receive_base + kGuardBytes;
  const unsigned char* block = data;
  uint64_t wrong = 0;
  for (int source = 0; source < ranks; ++source) {
    size_t first = 0;
    const size_t bytes = (size_t)traffic->receive_count[source];
    const uint64_t bad = pattern_check(block, bytes, pattern_key(call_key, source, rank), &first);
    if (bad) {
      fprintf(stderr,
              "alltoall_bench: rank %d: %" PRIu64
              " of %zu bytes from rank %d are wrong, the first at offset %zu\n",
              rank, bad, bytes, source, first);
    }
    wrong += bad;
    block += bytes;
  }
  for (size_t i = 0; i < kGuardBytes; ++i) {
    wrong += buffers->receive_base[i] != kGuardValue;
    wrong += data[traffic->receive + i] != kGuardValue;
  }
  return wrong;
}
