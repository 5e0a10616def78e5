// One MPI_Alltoallv or MPI_Alltoallw with everything about it varied: sizes (zero among them),
// datatypes, displacements in any order, negative, overlapping, in place. Each rank knows where and
// how every other has its blocks, so it knows each byte it must get: the pattern of the sender's
// buffer at the place where the sender has it.
#pragma once

#include "layouts.h"

typedef enum { kV, kW, kVLarge, kWLarge } Form;  // Large: the _c functions, where there are any

typedef struct {
  Form form;
  MPI_Comm comm;
  unsigned call;
  long units_max;
  int in_place;
  int overlapping;  // send blocks
  int plain;        // one datatype, MPI_INT
  int rank, ranks;
} Blocks;

static inline long blocks_units(const Blocks* b, int from, int to) {
  const int low = from < to ? from : to, high = from < to ? to : from;
  const unsigned char chance =
      b->in_place ? pattern(low, high, 1, b->call) : pattern(from, to, 1, b->call);
  const unsigned char more =
      b->in_place ? pattern(low, high, 2, b->call) : pattern(from, to, 2, b->call);
  if (chance < 80) return 0;
  if (chance < 120) return 1;
  return chance < 250 ? (b->units_max * more) / 2550 : b->units_max;
}

static inline int is_w(const Blocks* b) { return b->form == kW || b->form == kWLarge; }

static inline const Layout* blocks_layout(const Blocks* b, int owner, int peer, int side) {
  if (b->plain) return &layouts[0];
  return &layouts[pattern(owner, is_w(b) ? peer : 0, 3 + side, b->call) % kLayouts];
}

// Where the block lies, in bytes from the address that is passed, which is in the middle.
static inline long blocks_at(const Blocks* b, int owner, int peer, int side) {
  const Layout* layout = blocks_layout(b, owner, peer, side);
  const long slot = (b->ranks - peer + owner) % b->ranks - b->ranks / 2;
  const long room = side == 0 && b->overlapping ? 2 : b->units_max + 2;
  if (!is_w(b)) return slot * room * layout->per_unit * layout->extent;
  return slot * room * kExtentMax + 4 * (peer % 3);
}

static inline long blocks_half(const Blocks* b) {
  return (b->ranks / 2 + 2) * (b->units_max + 2) * (long)kExtentMax;
}

// Offset of one byte of data in a buffer.
static inline long blocks_byte(const Blocks* b, const Layout* layout, long at, long i) {
  const long unit = i / kUnitBytes;
  return blocks_half(b) + at + unit * layout->per_unit * layout->extent +
         layout->order[i % kUnitBytes];
}

static inline unsigned char* blocks_buffer(const Blocks* b, int rank) {
  const long bytes = 2 * blocks_half(b);
  unsigned char* buffer = (unsigned char*)allocate(bytes);
  for (long i = 0; i < bytes; ++i) buffer[i] = pattern(rank, 0, i, b->call);
  return buffer;
}

static inline int blocks_call(const Blocks* b, void* send, void* recv) {
  const int n = b->ranks;
  int* counts = (int*)allocate(4 * n * (long)sizeof(int));
  MPI_Datatype* types = (MPI_Datatype*)allocate(2 * n * (long)sizeof(MPI_Datatype));
  for (int side = 0; side < 2; ++side) {
    for (int peer = 0; peer < n; ++peer) {
      const Layout* layout = blocks_layout(b, b->rank, peer, side);
      const long at = blocks_at(b, b->rank, peer, side);
      const long units =
          side == 0 ? blocks_units(b, b->rank, peer) : blocks_units(b, peer, b->rank);
      counts[2 * side * n + peer] = (int)(units * layout->per_unit);
      counts[(2 * side + 1) * n + peer] = (int)(is_w(b) ? at : at / layout->extent);
      types[side * n + peer] = layout->type;
    }
  }
  int code = MPI_SUCCESS;
#if MPI_VERSION >= 4
  MPI_Count* wide = (MPI_Count*)allocate(2 * n * (long)sizeof(MPI_Count));
  MPI_Aint* at = (MPI_Aint*)allocate(2 * n * (long)sizeof(MPI_Aint));
  for (int i = 0; i < n; ++i) {
    wide[i] = counts[i], wide[n + i] = counts[2 * n + i];
    at[i] = counts[n + i], at[n + i] = counts[3 * n + i];
  }
  if (b->form == kVLarge) {
    code = MPI_Alltoallv_c(send, wide, at, types[0], recv, wide + n, at + n, types[n], b->comm);
  }
  if (b->form == kWLarge) {
    code = MPI_Alltoallw_c(send, wide, at, types, recv, wide + n, at + n, types + n, b->comm);
  }
  const int done = b->form == kVLarge || b->form == kWLarge;
  free(wide);
  free(at);
#else
  const int done = 0;
#endif
  if (!done && !is_w(b)) {
    code = MPI_Alltoallv(send, counts, counts + n, types[0], recv, counts + 2 * n, counts + 3 * n,
                         types[n], b->comm);
  }
  if (!done && is_w(b)) {
    code = MPI_Alltoallw(send, counts, counts + n, types, recv, counts + 2 * n, counts + 3 * n,
                         types + n, b->comm);
  }
  free(counts);
  free(types);
  return code;
}

static inline void exchange_blocks(Blocks b) {
  MPI_Comm_rank(b.comm, &b.rank);
  MPI_Comm_size(b.comm, &b.ranks);
  const long bytes = 2 * blocks_half(&b);
  unsigned char* send = blocks_buffer(&b, b.rank);
  unsigned char* recv = blocks_buffer(&b, b.in_place ? b.rank : -1 - b.rank);
  unsigned char* wanted = (unsigned char*)allocate(bytes);
  memcpy(wanted, recv, (size_t)bytes);
  const int side = b.in_place ? 1 : 0;  // of the sender's blocks
  for (int from = 0; from < b.ranks; ++from) {
    const Layout* theirs = blocks_layout(&b, from, b.rank, side);
    const Layout* ours = blocks_layout(&b, b.rank, from, 1);
    const long there = blocks_at(&b, from, b.rank, side), here = blocks_at(&b, b.rank, from, 1);
    const long data = blocks_units(&b, from, b.rank) * kUnitBytes;
    for (long i = 0; i < data; ++i) {
      wanted[blocks_byte(&b, ours, here, i)] =
          pattern(from, 0, blocks_byte(&b, theirs, there, i), b.call);
    }
  }
  const int code = blocks_call(&b, b.in_place ? MPI_IN_PLACE : (void*)(send + blocks_half(&b)),
                               recv + blocks_half(&b));
  expect(code == MPI_SUCCESS, "an error from an exchange of blocks");
  expect(memcmp(wanted, recv, (size_t)bytes) == 0, "received bytes, or bytes around them");
  free(send);
  free(recv);
  free(wanted);
}
