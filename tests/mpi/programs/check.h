// Patterns and small helpers shared by the test programs. Every byte depends on who sent it to
// whom, where it lies and on the call, so that nothing old or misplaced passes.
#pragma once

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "finalize.h"

static inline unsigned char pattern(int from, int to, long at, unsigned call) {
  uint32_t word = (uint32_t)from * 2654435761u ^ (uint32_t)to * 2246822519u ^
                  (uint32_t)at * 3266489917u ^ call * 668265263u;
  word ^= word >> 15;
  word *= 2246822519u;
  return (unsigned char)(word >> 24);
}

static inline void die(const char* what) {
  fprintf(stderr, "WRONG: %s\n", what);
  fflush(stderr);
  MPI_Abort(MPI_COMM_WORLD, 99);
  exit(99);
}

static inline void expect(int condition, const char* what) {
  if (!condition) die(what);
}

static inline void* allocate(long bytes) {
  void* memory = malloc(bytes > 0 ? (size_t)bytes : 1);
  if (!memory) die("out of memory");
  return memory;
}

// One exchange of `bytes` plain bytes per pair, verified, with guards around the receive buffer.
static inline int exchange_bytes(MPI_Comm comm, long bytes, unsigned call) {
  enum { kGuard = 64 };
  int rank = 0, ranks = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  unsigned char* send = (unsigned char*)allocate(ranks * bytes);
  unsigned char* room = (unsigned char*)allocate(ranks * bytes + 2 * kGuard);
  unsigned char* recv = room + kGuard;
  memset(room, 0xa5, (size_t)(ranks * bytes + 2 * kGuard));
  for (int to = 0; to < ranks; ++to) {
    for (long i = 0; i < bytes; ++i) send[to * bytes + i] = pattern(rank, to, i, call);
  }
  const int code = MPI_Alltoall(send, (int)bytes, MPI_BYTE, recv, (int)bytes, MPI_BYTE, comm);
  if (code == MPI_SUCCESS) {
    for (int from = 0; from < ranks; ++from) {
      for (long i = 0; i < bytes; ++i) {
        expect(recv[from * bytes + i] == pattern(from, rank, i, call), "received bytes");
      }
    }
    for (int i = 0; i < kGuard; ++i) {
      expect(room[i] == 0xa5 && recv[ranks * bytes + i] == 0xa5, "bytes outside the buffer");
    }
  }
  free(send);
  free(room);
  return code;
}
