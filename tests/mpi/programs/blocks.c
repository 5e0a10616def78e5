// Correctness of MPI_Alltoallv and MPI_Alltoallw. Usage: blocks WHAT
#include "blocks.h"

#include <pthread.h>

static int rank, ranks;
static unsigned call;

static void every_form(MPI_Comm comm, long units_max, int in_place, int overlapping, int plain) {
  for (Form form = kV; form <= kWLarge; ++form) {
    exchange_blocks((Blocks){form, comm, ++call, units_max, in_place, overlapping, plain, 0, 0});
  }
}

static void sizes(void) {
  for (int repeat = 0; repeat < 2; ++repeat) {
    for (long units = 0; units <= 2500; units = 5 * units + 1) {
      every_form(MPI_COMM_WORLD, units, 0, 0, 1);
      every_form(MPI_COMM_WORLD, units, 0, 1, 1);
    }
    exchange_bytes(MPI_COMM_WORLD, 3000, ++call);
  }
}

static void types(void) {
  for (int repeat = 0; repeat < 6; ++repeat) {
    every_form(MPI_COMM_WORLD, 1 + 70 * repeat, 0, repeat % 2, 0);
  }
}

static void in_place(void) {
  for (int repeat = 0; repeat < 6; ++repeat) {
    every_form(MPI_COMM_WORLD, 1 + 70 * repeat, 1, 0, repeat % 2);
  }
}

// Blocks of these sizes, `room` bytes apart on both sides.
static void exchange_counts(int counts[2][64], int room, unsigned char* send, unsigned char* recv,
                            unsigned call, const char* wrong, const char* too_many) {
  int at[64];
  for (int peer = 0; peer < ranks; ++peer) {
    at[peer] = room * peer;
    for (int b = 0; b < counts[0][peer]; ++b) send[at[peer] + b] = pattern(rank, peer, b, call);
  }
  memset(recv, 0xa5, (size_t)ranks * (size_t)room + 1);
  MPI_Alltoallv(send, counts[0], at, MPI_BYTE, recv, counts[1], at, MPI_BYTE, MPI_COMM_WORLD);
  for (int peer = 0; peer < ranks; ++peer) {
    for (int b = 0; b < counts[1][peer]; ++b) {
      expect(recv[at[peer] + b] == pattern(peer, rank, b, call), wrong);
    }
    expect(recv[at[peer] + counts[1][peer]] == 0xa5, too_many);
  }
}

// One rank sends to all, all send to one, nobody sends: ranks with nothing to do run ahead.
static void sparse(void) {
  int counts[2][64];
  unsigned char* send = (unsigned char*)allocate(64 * 30000);
  unsigned char* recv = (unsigned char*)allocate(64 * 30000);
  for (unsigned i = 0; i < 60; ++i) {
    const int hot = (int)(i / 3) % ranks;
    for (int peer = 0; peer < ranks; ++peer) {
      const int size = 1 + (int)(i * 7919u % 30000u);
      counts[0][peer] = (i % 3 == 0 && rank == hot) || (i % 3 == 1 && peer == hot) ? size : 0;
      counts[1][peer] = (i % 3 == 0 && peer == hot) || (i % 3 == 1 && rank == hot) ? size : 0;
    }
    exchange_counts(counts, 30000, send, recv, i, "sparse", "sparse: a byte too many");
  }
  free(send);
  free(recv);
}

// The same counts again and again, then others ten times as large.
static void repeated(void) {
  enum { kRoom = 5000, kCalls = 500, kSmallCalls = 400 };
  int counts[2][64];
  unsigned char* send = (unsigned char*)allocate((long)ranks * kRoom + 1);
  unsigned char* recv = (unsigned char*)allocate((long)ranks * kRoom + 1);
  for (unsigned i = 0; i < kCalls; ++i) {
    const int most = i < kSmallCalls ? kRoom / 10 : kRoom;
    for (int peer = 0; peer < ranks; ++peer) {
      counts[0][peer] = (rank * 977 + peer * 3001) % most;
      counts[1][peer] = (peer * 977 + rank * 3001) % most;
    }
    exchange_counts(counts, kRoom, send, recv, i, "repeated", "repeated: a byte too many");
  }
  free(send);
  free(recv);
}

// Absolute addresses: every block of a type of its own, from MPI_BOTTOM.
static void bottom(void) {
  enum { kRoom = 20000 };
  unsigned char* room[2];
  int ones[64], zeros[64] = {0}, sizes[2][64];
  MPI_Datatype types[2][64];
  for (int side = 0; side < 2; ++side) room[side] = (unsigned char*)allocate((long)ranks * kRoom);
  for (unsigned i = 0; i < 3; ++i) {
    for (int peer = 0; peer < ranks; ++peer) {
      ones[peer] = 1;
      for (int side = 0; side < 2; ++side) {
        const int from = side == 0 ? rank : peer, to = side == 0 ? peer : rank;
        unsigned char* block = room[side] + (long)peer * kRoom;
        MPI_Aint at = 0;
        MPI_Get_address(block, &at);
        sizes[side][peer] = 1 + (from * 977 + to * 3001 + (int)i * 811) % (kRoom - 1);
        MPI_Type_create_hindexed(1, &sizes[side][peer], &at, MPI_BYTE, &types[side][peer]);
        MPI_Type_commit(&types[side][peer]);
        for (int b = 0; b < kRoom; ++b) block[b] = side == 0 ? pattern(rank, peer, b, i) : 0xa5;
      }
    }
    MPI_Alltoallw(MPI_BOTTOM, ones, zeros, types[0], MPI_BOTTOM, ones, zeros, types[1],
                  MPI_COMM_WORLD);
    for (int peer = 0; peer < ranks; ++peer) {
      const unsigned char* block = room[1] + (long)peer * kRoom;
      for (int b = 0; b < kRoom; ++b) {
        expect(block[b] == (b < sizes[1][peer] ? pattern(peer, rank, b, i) : 0xa5), "MPI_BOTTOM");
      }
      MPI_Type_free(&types[0][peer]);
      MPI_Type_free(&types[1][peer]);
    }
  }
  free(room[0]);
  free(room[1]);
}

static void communicators(void) {
  MPI_Comm made[6];
  MPI_Request request;
  MPI_Comm_dup(MPI_COMM_WORLD, &made[0]);
  MPI_Comm_idup(MPI_COMM_WORLD, &made[1], &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &made[2]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &made[3]);
  MPI_Group group, reordered;
  int order[64];
  for (int i = 0; i < ranks; ++i) order[i] = (i + 2) % ranks;
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  MPI_Group_incl(group, ranks, order, &reordered);
  MPI_Comm_create(MPI_COMM_WORLD, reordered, &made[4]);
  MPI_Group_free(&group);
  MPI_Group_free(&reordered);
  // A communicator of this program's ranks: split, connected, merged.
  MPI_Comm inter;
  MPI_Intercomm_create(made[2], 0, MPI_COMM_WORLD, 1 - rank % 2, 7, &inter);
  MPI_Intercomm_merge(inter, rank % 2, &made[5]);
  for (int repeat = 0; repeat < 2; ++repeat) {
    for (int i = 0; i < 6; ++i) {
      every_form(made[i], 100, 0, 0, 0);
      exchange_bytes(made[i], 2000, ++call);
    }
  }
  for (int i = 0; i < 6; ++i) MPI_Comm_free(&made[i]);
  MPI_Comm_free(&inter);
  every_form(MPI_COMM_SELF, 50, 0, 0, 0);
}

static void intercommunicator(void) {
  MPI_Comm half, inter;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 7, &inter);
  int remote = 0, send[64], recv[64], counts[64], at[64], bytes[64];
  MPI_Datatype kinds[64];
  MPI_Comm_remote_size(inter, &remote);
  for (int i = 0; i < remote; ++i) {
    send[i] = rank * 1000 + i;
    counts[i] = 1, at[i] = i, bytes[i] = (int)sizeof(int) * i, kinds[i] = MPI_INT;
  }
  for (int form = 0; form < 3; ++form) {
    memset(recv, 0, sizeof recv);
    if (form == 0) {
      MPI_Alltoall(send, 1, MPI_INT, recv, 1, MPI_INT, inter);
    } else if (form == 1) {
      MPI_Alltoallw(send, counts, bytes, kinds, recv, counts, bytes, kinds, inter);
    } else {
      MPI_Alltoallv(send, counts, at, MPI_INT, recv, counts, at, MPI_INT, inter);
    }
    for (int i = 0; i < remote; ++i) {
      expect(recv[i] == (2 * i + 1 - rank % 2) * 1000 + rank / 2, "intercommunicator");
    }
  }
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}

typedef struct {
  MPI_Comm comm;
  unsigned salt;
} Worker;

static void* drive(void* argument) {
  const Worker* worker = (const Worker*)argument;
  for (unsigned i = 0; i < 20; ++i) {
    const Form form = (Form)(i % 4);
    exchange_blocks((Blocks){form, worker->comm, worker->salt + i, 20 * (long)i, 0, 0, 0, 0, 0});
    exchange_bytes(worker->comm, 3000, worker->salt + i);
  }
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

// One element of more than MPI_Pack can count, as programs make them to stay within an int.
static MPI_Datatype huge_type(int megabytes, MPI_Datatype megabyte, int bytes) {
  enum { kRest = 100 };
  MPI_Datatype parts[2], huge;
  MPI_Type_contiguous(megabytes - kRest, megabyte, &parts[0]);
  MPI_Type_vector(kRest, bytes, bytes, MPI_BYTE, &parts[1]);
  const int ones[2] = {1, 1};
  const MPI_Aint at[2] = {0, (MPI_Aint)(megabytes - kRest) * bytes};
  MPI_Type_create_struct(2, ones, at, parts, &huge);
  MPI_Type_commit(&huge);
  MPI_Type_free(&parts[0]);
  MPI_Type_free(&parts[1]);
  return huge;
}

// More than 2^31 bytes from rank 0 to rank 1, and some back.
static void large(void) {
  enum { kMegabyte = 1 << 20, kElements = 2100, kBack = 3 };
  MPI_Datatype megabyte;
  MPI_Type_contiguous(kMegabyte, MPI_BYTE, &megabyte);
  MPI_Type_commit(&megabyte);
  const long words = (long)kElements * kMegabyte / 8;
  uint64_t* memory = (uint64_t*)allocate(8 * words);
  int send[2] = {0, 0}, recv[2] = {0, 0}, at[2] = {0, 0};
  send[1 - rank] = rank == 0 ? kElements : kBack;
  recv[1 - rank] = rank == 0 ? kBack : kElements;
  uint64_t* few = (uint64_t*)allocate(kBack * kMegabyte);
  uint64_t* out = rank == 0 ? memory : few;
  uint64_t* in = rank == 0 ? few : memory;
  const long sent = (long)send[1 - rank] * kMegabyte / 8;
  const long received = (long)recv[1 - rank] * kMegabyte / 8;
  for (long i = 0; i < sent; ++i) out[i] = (uint64_t)(i + rank) * 0x9e3779b97f4a7c15u;
  for (int wide = 0; wide < 2; ++wide) {
    memset(in, 0, (size_t)(8 * received));
#if MPI_VERSION >= 4
    if (wide) {
      MPI_Count sends[2] = {8 * sent * rank, 8 * sent * (1 - rank)};
      MPI_Count recvs[2] = {8 * received * rank, 8 * received * (1 - rank)};
      MPI_Aint from[2] = {0, 0};
      MPI_Alltoallv_c(out, sends, from, MPI_BYTE, in, recvs, from, MPI_BYTE, MPI_COMM_WORLD);
    }
#else
    if (wide) break;
#endif
    if (!wide) {
      const int one[2] = {0, 1};
      MPI_Datatype huge = huge_type(kElements, megabyte, kMegabyte);
      MPI_Alltoallv(out, rank == 0 ? one : send, at, rank == 0 ? huge : megabyte, in, recv, at,
                    megabyte, MPI_COMM_WORLD);
      MPI_Type_free(&huge);
    }
    for (long i = 0; i < received; ++i) {
      expect(in[i] == (uint64_t)(i + 1 - rank) * 0x9e3779b97f4a7c15u, "more than 2^31 bytes");
    }
  }
  MPI_Type_free(&megabyte);
  free(memory);
  free(few);
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  const int wanted = strcmp(what, "threads") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
  int provided = 0;
  MPI_Init_thread(&argc, &argv, wanted, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  make_layouts();
  const struct {
    const char* name;
    void (*run)(void);
  } all[] = {{"sizes", sizes},
             {"types", types},
             {"in_place", in_place},
             {"sparse", sparse},
             {"repeated", repeated},
             {"bottom", bottom},
             {"communicators", communicators},
             {"intercommunicator", intercommunicator},
             {"threads", threads},
             {"large", large}};
  int found = 0;
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
    if (strcmp(what, all[i].name) != 0) continue;
    found = 1;
    if (wanted == MPI_THREAD_SINGLE || provided == wanted) all[i].run();
  }
  expect(found, "usage: blocks WHAT");
  free_layouts();
  MPI_Finalize();
  if (rank == 0) puts("CORRECT");
  return 0;
}
