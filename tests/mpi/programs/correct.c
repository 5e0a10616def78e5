// Correctness of MPI_Alltoall: sizes, datatypes, communicators. Usage: correct WHAT
#include <pthread.h>

#include "check.h"

static int rank, ranks;
static unsigned call;

static void sizes(void) {
  static const long kSizes[] = {1, 7, 100, 1447, 1448, 1449, 2896, 10000, 100000};
  for (int repeat = 0; repeat < 3; ++repeat) {
    for (size_t i = 0; i < sizeof kSizes / sizeof *kSizes; ++i) {
      exchange_bytes(MPI_COMM_WORLD, kSizes[i], ++call);
    }
  }
  char nothing = 0;
  MPI_Alltoall(&nothing, 0, MPI_BYTE, &nothing, 0, MPI_BYTE, MPI_COMM_WORLD);
}

typedef struct {
  MPI_Datatype type;
  long extent;        // bytes from one element to the next
  long bytes;         // of data
  const long* order;  // offset of every data byte inside an element, in signature order
} Layout;

static void fill(unsigned char* buffer, const Layout* layout, int count) {
  for (int to = 0; to < ranks; ++to) {
    for (int e = 0; e < count; ++e) {
      for (long b = 0; b < layout->bytes; ++b) {
        buffer[(to * count + e) * layout->extent + layout->order[b]] =
            pattern(rank, to, e * layout->bytes + b, call);
      }
    }
  }
}

static void verify(const unsigned char* buffer, const Layout* layout, int count, const char* name) {
  unsigned char* touched = (unsigned char*)allocate(ranks * count * layout->extent);
  memset(touched, 0, (size_t)(ranks * count * layout->extent));
  for (int from = 0; from < ranks; ++from) {
    for (int e = 0; e < count; ++e) {
      for (long b = 0; b < layout->bytes; ++b) {
        const long at = (from * count + e) * layout->extent + layout->order[b];
        touched[at] = 1;
        expect(buffer[at] == pattern(from, rank, e * layout->bytes + b, call), name);
      }
    }
  }
  for (long i = 0; i < ranks * count * layout->extent; ++i) {
    expect(touched[i] || buffer[i] == 0xa5, "a byte in a gap was written");
  }
  free(touched);
}

// Elements of one layout are sent and received as elements of another with the same signature.
static void typed(const Layout* out, int out_count, const Layout* in, int in_count, int in_place,
                  const char* name) {
  ++call;
  unsigned char* send = (unsigned char*)allocate(ranks * out_count * out->extent);
  unsigned char* recv = (unsigned char*)allocate(ranks * in_count * in->extent);
  memset(send, 0xa5, (size_t)(ranks * out_count * out->extent));
  memset(recv, 0xa5, (size_t)(ranks * in_count * in->extent));
  fill(in_place ? recv : send, in_place ? in : out, in_place ? in_count : out_count);
  MPI_Alltoall(in_place ? MPI_IN_PLACE : send, in_place ? 0 : out_count,
               in_place ? MPI_DATATYPE_NULL : out->type, recv, in_count, in->type, MPI_COMM_WORLD);
  verify(recv, in, in_count, name);
#if MPI_VERSION >= 4
  memset(recv, 0xa5, (size_t)(ranks * in_count * in->extent));
  if (in_place) fill(recv, in, in_count);
  MPI_Alltoall_c(in_place ? MPI_IN_PLACE : send, in_place ? 0 : out_count,
                 in_place ? MPI_DATATYPE_NULL : out->type, recv, in_count, in->type,
                 MPI_COMM_WORLD);
  verify(recv, in, in_count, name);
#endif
  free(send);
  free(recv);
}

static void types(void) {
  // Every layout carries 12 ints of signature per element, 48 bytes.
  static long plain[48], strided[48], gaps[48], swapped[48], shifted[48];
  for (long i = 0; i < 48; ++i) {
    const long word = i / 4, byte = i % 4;
    plain[i] = i;
    strided[i] = (word / 2 * 5 + word % 2) * 4 + byte;  // vector: 6 blocks of 2 in 5
    gaps[i] = (word < 1 ? word : word < 4 ? word + 2 : word + 4) * 4 + byte;  // struct 1, 3, 8
    swapped[i] = (word ^ 1) * 4 + byte;  // pairs exchanged, no gap
    shifted[i] = 8 + i;                  // lower bound below the data
  }
  Layout layouts[5] = {{MPI_INT, 4, 4, plain},
                       {0, 28 * 4, 48, strided},
                       {0, 20 * 4, 48, gaps},
                       {0, 48, 48, swapped},
                       {0, 64, 48, shifted}};
  MPI_Datatype inner;
  MPI_Type_vector(6, 2, 5, MPI_INT, &inner);
  MPI_Type_create_resized(inner, 0, 28 * 4, &layouts[1].type);
  MPI_Type_free(&inner);

  int lengths[3] = {1, 3, 8};
  MPI_Aint at[3] = {0, 3 * 4, 8 * 4};
  MPI_Datatype words[3] = {MPI_INT, MPI_INT, MPI_INT};
  MPI_Type_create_struct(3, lengths, at, words, &inner);
  MPI_Type_create_resized(inner, 0, 20 * 4, &layouts[2].type);
  MPI_Type_free(&inner);

  int singles[12];
  for (int i = 0; i < 12; ++i) singles[i] = i ^ 1;
  MPI_Type_create_indexed_block(12, 1, singles, MPI_INT, &layouts[3].type);

  int one = 12;
  MPI_Aint eight = 8;
  MPI_Type_create_struct(1, &one, &eight, words, &inner);
  MPI_Type_create_resized(inner, 0, 64, &layouts[4].type);
  MPI_Type_free(&inner);
  for (int i = 1; i < 5; ++i) MPI_Type_commit(&layouts[i].type);

  for (int count = 1; count < 200; count += 98) {
    for (int a = 0; a < 5; ++a) {
      for (int b = 0; b < 5; ++b) {
        typed(&layouts[a], a ? count : 12 * count, &layouts[b], b ? count : 12 * count, 0, "types");
      }
      typed(&layouts[a], 1, &layouts[a], a ? count : 12 * count, 1, "types in place");
    }
  }
  for (int i = 1; i < 5; ++i) MPI_Type_free(&layouts[i].type);

  // A pair type has a gap at its end or not, as the compiler pleases; MPI knows.
  struct {
    double value;
    int index;
  } send[64], recv[64];
  for (int i = 0; i < ranks; ++i) send[i].value = rank + 0.5, send[i].index = rank * 100 + i;
  MPI_Alltoall(send, 1, MPI_DOUBLE_INT, recv, 1, MPI_DOUBLE_INT, MPI_COMM_WORLD);
  for (int i = 0; i < ranks; ++i) {
    expect(recv[i].value == i + 0.5 && recv[i].index == i * 100 + rank, "MPI_DOUBLE_INT");
  }
}

static void communicators(void) {
  MPI_Comm world_copy, half, reversed, never;
  MPI_Comm_dup(MPI_COMM_WORLD, &world_copy);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
  MPI_Comm_split(MPI_COMM_WORLD, rank < ranks / 2, -rank, &never);
  for (int repeat = 0; repeat < 3; ++repeat) {
    exchange_bytes(world_copy, 3000, ++call);
    exchange_bytes(half, 500, ++call);
    exchange_bytes(reversed, 20000, ++call);
    exchange_bytes(never, 1, ++call);
    exchange_bytes(MPI_COMM_WORLD, 700, ++call);
  }
  exchange_bytes(MPI_COMM_SELF, 100, ++call);
  MPI_Comm_free(&half);
  MPI_Comm_free(&world_copy);
  exchange_bytes(reversed, 20000, ++call);
  MPI_Comm_free(&reversed);
  // More than anyone keeps answering for, freed while slower ranks may still be receiving.
  for (int i = 0; i < 40; ++i) {
    MPI_Comm part;
    MPI_Comm_split(MPI_COMM_WORLD, (rank + i) % 2, rank, &part);
    exchange_bytes(part, 2000 + i, ++call);
    MPI_Comm_free(&part);
  }
  exchange_bytes(never, 4000, ++call);
}

static void intercommunicator(void) {
  MPI_Comm half, inter;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 7, &inter);
  int remote = 0;
  MPI_Comm_remote_size(inter, &remote);
  int send[64], recv[64];
  for (int i = 0; i < remote; ++i) send[i] = rank * 1000 + i;
  MPI_Alltoall(send, 1, MPI_INT, recv, 1, MPI_INT, inter);
  for (int i = 0; i < remote; ++i) {
    expect(recv[i] == (2 * i + 1 - rank % 2) * 1000 + rank / 2, "intercommunicator");
  }
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}

// One rank computes for long: its silence is no failure, others wait for it.
static void late(void) {
  exchange_bytes(MPI_COMM_WORLD, 1000, ++call);
  if (rank == 1) sleep(4);
  exchange_bytes(MPI_COMM_WORLD, 1000, ++call);
}

// Children inherit neither the sockets nor the thread.
static void children(void) {
  for (int i = 0; i < 5; ++i) {
    exchange_bytes(MPI_COMM_WORLD, 20000, ++call);
    expect(system("exit 0") == 0, "a child ran");
  }
}

typedef struct {
  MPI_Comm comm;
  unsigned salt;
} Worker;

static void* drive(void* argument) {
  const Worker* worker = (const Worker*)argument;
  for (unsigned i = 0; i < 40; ++i) exchange_bytes(worker->comm, 3000 + 100 * i, worker->salt + i);
  return NULL;
}

static void threads(void) {
  enum { kWorkers = 3 };
  Worker workers[kWorkers];
  pthread_t others[kWorkers];
  for (int i = 0; i < kWorkers; ++i) {
    MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].comm);
    workers[i].salt = 1000u * (unsigned)(i + 1);
  }
  for (int i = 0; i < kWorkers; ++i) pthread_create(&others[i], NULL, drive, &workers[i]);
  for (int i = 0; i < kWorkers; ++i) pthread_join(others[i], NULL);
  for (int i = 0; i < kWorkers; ++i) MPI_Comm_free(&workers[i].comm);
}

// All in use at once.
static void many_communicators(void) {
  enum { kMany = 120 };
  MPI_Comm copies[kMany];
  for (int i = 0; i < kMany; ++i) {
    MPI_Comm_dup(MPI_COMM_WORLD, &copies[i]);
    exchange_bytes(copies[i], 8, ++call);
  }
  for (int i = 0; i < kMany; ++i) exchange_bytes(copies[i], 8, ++call);
  for (int i = 0; i < kMany; ++i) MPI_Comm_free(&copies[i]);
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  const int wanted = strcmp(what, "threads") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
  int provided = 0;
  MPI_Init_thread(&argc, &argv, wanted, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int many = strcmp(what, "sizes") == 0 || strcmp(what, "types") == 0;
  // With small blocks alone the world would wait.
  if (many) exchange_bytes(MPI_COMM_WORLD, 1000, ++call);
  if (strcmp(what, "sizes") == 0) {
    sizes();
  } else if (strcmp(what, "types") == 0) {
    types();
  } else if (strcmp(what, "communicators") == 0) {
    communicators();
  } else if (strcmp(what, "many_communicators") == 0) {
    many_communicators();
  } else if (strcmp(what, "intercommunicator") == 0) {
    intercommunicator();
  } else if (strcmp(what, "late") == 0) {
    late();
  } else if (strcmp(what, "children") == 0) {
    children();
  } else if (strcmp(what, "threads") == 0) {
    if (provided >= MPI_THREAD_MULTIPLE) threads();
  } else {
    die("usage: correct WHAT");
  }
  MPI_Finalize();
  if (rank == 0) puts("CORRECT");
  return 0;
}
