// Correctness of MPI_Neighbor_alltoall and its v and w forms. Every rank prints nothing; rank 0
// prints a digest of all that came, which is the same with every library, allemande or none.
// Usage: neighbours TOPOLOGY SEED CALLS BYTES
#include "check.h"

// Open MPI's MPI_UNWEIGHTED is the address 2, which compilers take for an array.
#pragma GCC diagnostic ignored "-Wstringop-overread"

static int rank, ranks;
static uint64_t digest = 14695981039346656037u;
static uint32_t state;

static uint32_t draw(uint32_t below) {
  state = state * 1664525u + 1013904223u;
  return (state >> 8) % below;
}

static void digest_bytes(const unsigned char* bytes, long size) {
  for (long i = 0; i < size; ++i) digest = (digest ^ bytes[i]) * 1099511628211u;
}

// The same edges on all ranks: [from][to], so many of each.
static int edges[64][64];

static MPI_Comm random_graph(int directed) {
  const int degree = 2 + (int)draw(3);
  memset(edges, 0, sizeof edges);
  for (int from = 0; from < ranks; ++from) {
    for (int i = 0; i < degree; ++i) {
      const int to = (int)draw((uint32_t)ranks);  // to itself, too, and several to the same
      ++edges[from][to];
      if (!directed) ++edges[to][from];
    }
  }
  int to[64 * 8], from[64 * 8], outs = 0, ins = 0;
  // In an order that is that of no rank.
  for (int i = 0; i < ranks; ++i) {
    const int peer = (i * 5 + rank) % ranks;
    for (int k = 0; k < edges[rank][peer]; ++k) to[outs++] = peer;
    for (int k = 0; k < edges[peer][rank]; ++k) from[ins++] = peer;
  }
  MPI_Comm comm;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, ins, from, MPI_UNWEIGHTED, outs, to,
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
  return comm;
}

static MPI_Comm old_graph(void) {
  int index[64], neighbours[3 * 64], count = 0;
  for (int r = 0; r < ranks; ++r) {
    neighbours[count++] = (r + 1) % ranks;
    neighbours[count++] = (r + ranks - 1) % ranks;
    index[r] = count;
  }
  MPI_Comm comm;
  MPI_Graph_create(MPI_COMM_WORLD, ranks, index, neighbours, 0, &comm);
  return comm;
}

static MPI_Comm grid(int first, int periodic) {
  int sizes[2] = {first, 0};
  int periods[2] = {periodic, periodic};
  MPI_Dims_create(ranks, 2, sizes);
  MPI_Comm comm;
  MPI_Cart_create(MPI_COMM_WORLD, 2, sizes, periods, 0, &comm);
  return comm;
}

static MPI_Comm make(const char* topology) {
  if (strcmp(topology, "grid") == 0) return grid(0, 0);
  if (strcmp(topology, "torus") == 0) return grid(0, 1);
  if (strcmp(topology, "two") == 0) return grid(2, 1);
  if (strcmp(topology, "one") == 0) return grid(1, 1);
  if (strcmp(topology, "graph") == 0) return old_graph();
  if (strcmp(topology, "random") == 0) return random_graph(0);
  if (strcmp(topology, "directed") == 0) return random_graph(1);
  die("TOPOLOGY");
  return MPI_COMM_NULL;
}

static void degrees(MPI_Comm comm, int* in, int* out) {
  int kind = 0, dimensions = 0, weighted = 0;
  MPI_Topo_test(comm, &kind);
  if (kind == MPI_CART) {
    MPI_Cartdim_get(comm, &dimensions);
    *in = *out = 2 * dimensions;
  } else if (kind == MPI_GRAPH) {
    MPI_Graph_neighbors_count(comm, rank, in);
    *out = *in;
  } else {
    MPI_Dist_graph_neighbors_count(comm, in, out, &weighted);
  }
}

// All forms, one after the other: blocks of `bytes`, of sizes that differ from block to block, and
// of elements that lie apart.
static void exchange(MPI_Comm comm, int in, int out, long bytes, unsigned call) {
  const long room = 2 * bytes + 16;
  unsigned char* send = (unsigned char*)allocate(out * room);
  unsigned char* recv = (unsigned char*)allocate(in * room);
  int *counts[2], *at[2];
  MPI_Aint* far[2];
  MPI_Datatype* types[2];
  MPI_Datatype apart;
  MPI_Type_create_resized(MPI_BYTE, 0, 2, &apart);
  MPI_Type_commit(&apart);
  // The same count at both ends of an edge: it depends on the call alone, except for every third
  // block of nothing, which both ends know where edges are few.
  const int some = (int)(bytes > 2 ? bytes - (long)(call % 3) : bytes);
  for (int side = 0; side < 2; ++side) {
    const int blocks = side == 0 ? out : in;
    counts[side] = (int*)allocate((long)sizeof(int) * blocks);
    at[side] = (int*)allocate((long)sizeof(int) * blocks);
    far[side] = (MPI_Aint*)allocate((long)sizeof(MPI_Aint) * blocks);
    types[side] = (MPI_Datatype*)allocate((long)sizeof(MPI_Datatype) * blocks);
    for (int i = 0; i < blocks; ++i) {
      counts[side][i] = some;
      at[side][i] = (int)(room * (blocks - 1 - i));
      far[side][i] = at[side][i];
      types[side][i] = (i + side) % 2 ? apart : MPI_BYTE;
    }
  }
  for (int form = 0; form < 3; ++form) {
    for (long i = 0; i < out * room; ++i) send[i] = pattern(rank, form, i, call);
    memset(recv, 0xa5, (size_t)(in * room));
    int code = MPI_SUCCESS;
    if (form == 0) {
      code = MPI_Neighbor_alltoall(send, (int)bytes, MPI_BYTE, recv, (int)bytes, MPI_BYTE, comm);
    } else if (form == 1) {
      code = MPI_Neighbor_alltoallv(send, counts[0], at[0], MPI_BYTE, recv, counts[1], at[1],
                                    MPI_BYTE, comm);
    } else {
      code = MPI_Neighbor_alltoallw(send, counts[0], far[0], types[0], recv, counts[1], far[1],
                                    types[1], comm);
    }
    expect(code == MPI_SUCCESS, "error code");
    digest_bytes(recv, in * room);
  }
  MPI_Type_free(&apart);
  for (int side = 0; side < 2; ++side) {
    free(counts[side]);
    free(at[side]);
    free(far[side]);
    free(types[side]);
  }
  free(send);
  free(recv);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  expect(argc == 5, "usage: neighbours TOPOLOGY SEED CALLS BYTES");
  state = (uint32_t)atoi(argv[2]);
  const int calls = atoi(argv[3]);
  const long bytes = atol(argv[4]);
  MPI_Comm comm = make(argv[1]);
  int in = 0, out = 0;
  degrees(comm, &in, &out);
  for (int call = 0; call < calls; ++call) exchange(comm, in, out, bytes, (unsigned)call);
  MPI_Comm_free(&comm);
  uint64_t all = 0;
  digest ^= (uint64_t)(rank + 1) * 1099511628211u;
  MPI_Reduce(&digest, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("DIGEST %016llx\nCORRECT\n", (unsigned long long)all);
  MPI_Finalize();
  return 0;
}
