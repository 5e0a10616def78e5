// Correctness of MPI_Neighbor_alltoall, its v and w forms, and their nonblocking forms. Every rank
// prints nothing; rank 0 prints a digest of all that came, which is the same with every library,
// allemande or none, and for blocking and nonblocking calls.
// Usage: neighbours TOPOLOGY SEED CALLS BYTES [blocking|nonblocking|wide]
// The last two ask for MPI_THREAD_MULTIPLE; every fourth call is blocking, the first one, too.
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

enum { kForms = 3, kBlocking = 0, kNonblocking, kWide };

typedef struct {
  int blocks;
  unsigned char* bytes[kForms];  // [form]
  int *counts, *at;
  MPI_Aint* far;
  MPI_Count* many;
  MPI_Datatype* types;
} Side;

// The same count at both ends of an edge.
static Side lay(int blocks, long bytes, int some, const MPI_Datatype* types) {
  const long room = 2 * bytes + 16;
  Side side = {blocks, {NULL}, NULL, NULL, NULL, NULL, NULL};
  for (int form = 0; form < kForms; ++form) {
    side.bytes[form] = (unsigned char*)allocate(blocks * room);
  }
  side.counts = (int*)allocate((long)sizeof(int) * blocks);
  side.at = (int*)allocate((long)sizeof(int) * blocks);
  side.far = (MPI_Aint*)allocate((long)sizeof(MPI_Aint) * blocks);
  side.many = (MPI_Count*)allocate((long)sizeof(MPI_Count) * blocks);
  side.types = (MPI_Datatype*)allocate((long)sizeof(MPI_Datatype) * blocks);
  for (int i = 0; i < blocks; ++i) {
    side.counts[i] = some;
    side.many[i] = some;
    side.at[i] = (int)(room * (blocks - 1 - i));
    side.far[i] = side.at[i];
    side.types[i] = types[i % 2];
  }
  return side;
}

static void let_go(Side* side) {
  for (int form = 0; form < kForms; ++form) free(side->bytes[form]);
  free(side->counts);
  free(side->at);
  free(side->far);
  free(side->many);
  free(side->types);
}

static int begin(int form, int how, const Side* out, const Side* in, int bytes, MPI_Comm comm,
                 MPI_Request* request) {
  const void* send = out->bytes[form];
  void* recv = in->bytes[form];
  const MPI_Datatype byte = MPI_BYTE;
#if MPI_VERSION >= 4
  if (how == kWide) {
    switch (form) {
      case 0:
        return MPI_Ineighbor_alltoall_c(send, bytes, byte, recv, bytes, byte, comm, request);
      case 1:
        return MPI_Ineighbor_alltoallv_c(send, out->many, out->far, byte, recv, in->many, in->far,
                                         byte, comm, request);
      default:
        return MPI_Ineighbor_alltoallw_c(send, out->many, out->far, out->types, recv, in->many,
                                         in->far, in->types, comm, request);
    }
  }
#endif
  switch (form + (how == kBlocking ? 0 : kForms)) {
    case 0:
      return MPI_Neighbor_alltoall(send, bytes, byte, recv, bytes, byte, comm);
    case 1:
      return MPI_Neighbor_alltoallv(send, out->counts, out->at, byte, recv, in->counts, in->at,
                                    byte, comm);
    case 2:
      return MPI_Neighbor_alltoallw(send, out->counts, out->far, out->types, recv, in->counts,
                                    in->far, in->types, comm);
    case 3:
      return MPI_Ineighbor_alltoall(send, bytes, byte, recv, bytes, byte, comm, request);
    case 4:
      return MPI_Ineighbor_alltoallv(send, out->counts, out->at, byte, recv, in->counts, in->at,
                                     byte, comm, request);
    default:
      return MPI_Ineighbor_alltoallw(send, out->counts, out->far, out->types, recv, in->counts,
                                     in->far, in->types, comm, request);
  }
}

// All forms: blocks of `bytes`, of sizes that differ from call to call, and of elements that lie
// apart. Nonblocking ones are under way at once, and their type is freed meanwhile.
static void exchange(MPI_Comm comm, int ins, int outs, long bytes, unsigned call, int how) {
  const long room = 2 * bytes + 16;
  const int some = (int)(bytes > 2 ? bytes - (long)(call % 3) : bytes);
  MPI_Datatype apart;
  MPI_Type_create_resized(MPI_BYTE, 0, 2, &apart);
  MPI_Type_commit(&apart);
  Side out = lay(outs, bytes, some, (MPI_Datatype[]){MPI_BYTE, apart});
  Side in = lay(ins, bytes, some, (MPI_Datatype[]){apart, MPI_BYTE});
  MPI_Request requests[kForms] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  for (int form = 0; form < kForms; ++form) {
    for (long i = 0; i < outs * room; ++i) out.bytes[form][i] = pattern(rank, form, i, call);
    memset(in.bytes[form], 0xa5, (size_t)(ins * room));
    expect(begin(form, how, &out, &in, (int)bytes, comm, &requests[form]) == MPI_SUCCESS,
           "error code");
    expect((requests[form] == MPI_REQUEST_NULL) == (how == kBlocking), "a request");
  }
  MPI_Type_free(&apart);
  expect(MPI_Waitall(kForms, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS, "MPI_Waitall");
  for (int form = 0; form < kForms; ++form) digest_bytes(in.bytes[form], ins * room);
  let_go(&out);
  let_go(&in);
}

int main(int argc, char** argv) {
  static const char* const kHow[] = {"blocking", "nonblocking", "wide"};
  int how = kBlocking, provided = 0;
  while (argc == 6 && how < kWide && strcmp(argv[5], kHow[how]) != 0) ++how;
  MPI_Init_thread(&argc, &argv, how == kBlocking ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE,
                  &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  expect(argc == 5 || (argc == 6 && strcmp(argv[5], kHow[how]) == 0),
         "usage: neighbours TOPOLOGY SEED CALLS BYTES [blocking|nonblocking|wide]");
  state = (uint32_t)atoi(argv[2]);
  const int calls = atoi(argv[3]);
  const long bytes = atol(argv[4]);
  MPI_Comm comm = make(argv[1]);
  int in = 0, out = 0;
  degrees(comm, &in, &out);
  for (int call = 0; call < calls; ++call) {
    exchange(comm, in, out, bytes, (unsigned)call, call % 4 == 0 ? kBlocking : how);
  }
  MPI_Comm_free(&comm);
  uint64_t all = 0;
  digest ^= (uint64_t)(rank + 1) * 1099511628211u;
  MPI_Reduce(&digest, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("DIGEST %016llx\nCORRECT\n", (unsigned long long)all);
  MPI_Finalize();
  return 0;
}
