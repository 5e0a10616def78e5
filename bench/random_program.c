// A program drawn at random, to hold a job's whole time against the library's own: a few phases,
// each so many calls of one form, of one size, on one communicator. All ranks draw the same.
//
//   random_program SEED CALLS BYTES
//
// CALLS calls in all, that send about BYTES from each rank together. The bytes of the first and the
// last call of a phase are checked. Rank 0 prints a line for each phase, then each rank the seconds
// from the begin of main() to the end of MPI_Finalize.
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kRanksMax = 128, kPhasesMax = 4, kForms = 4, kGroups = 3 };

static const char* const kFormNames[kForms] = {"alltoall", "alltoallv", "ialltoall", "neighbour"};
static const char* const kGroupNames[kGroups] = {"world", "halves", "every second"};
static unsigned long state;

static double draw(void) {
  state = state * 6364136223846793005ul + 1442695040888963407ul;
  return (double)(state >> 11) / 9007199254740992.0;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static unsigned char pattern(int from, int to, long at) {
  return (unsigned char)(from * 37 + to * 11 + at * 3 + 1);
}

// What rank `from` sends `to`: with MPI_Alltoallv half to one and a half times `bytes`.
static int count_of(int form, int from, int to, int bytes) {
  return form == 1 ? bytes / 2 + bytes * ((from * 7 + to * 13) % 5) / 4 : bytes;
}

typedef struct {
  int form, bytes, peers;
  int to[kRanksMax];  // whom this rank sends to and receives from, in the order of its blocks
  int send_counts[kRanksMax], recv_counts[kRanksMax], send_at[kRanksMax], recv_at[kRanksMax];
  unsigned char *send, *recv;
  MPI_Comm comm;
} Phase;

static void prepare(Phase* phase, MPI_Comm group) {
  int rank, ranks;
  MPI_Comm_rank(group, &rank);
  MPI_Comm_size(group, &ranks);
  phase->peers = 0;
  for (int peer = 0; peer < ranks; ++peer) {
    const int off = (peer - rank + ranks) % ranks;
    if (phase->form != 3 || off == 1 || off == ranks - 1) phase->to[phase->peers++] = peer;
  }
  int sent = 0, received = 0;
  for (int i = 0; i < phase->peers; ++i) {
    phase->send_at[i] = sent;
    phase->recv_at[i] = received;
    sent += phase->send_counts[i] = count_of(phase->form, rank, phase->to[i], phase->bytes);
    received += phase->recv_counts[i] = count_of(phase->form, phase->to[i], rank, phase->bytes);
  }
  phase->send = malloc((size_t)sent + 1);
  phase->recv = malloc((size_t)received + 1);
  if (!phase->send || !phase->recv) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int i = 0; i < phase->peers; ++i) {
    for (int at = 0; at < phase->send_counts[i]; ++at) {
      phase->send[phase->send_at[i] + at] = pattern(rank, phase->to[i], at);
    }
  }
  phase->comm = group;
  if (phase->form != 3) return;
  int weights[kRanksMax];
  for (int i = 0; i < kRanksMax; ++i) weights[i] = 1;
  MPI_Dist_graph_create_adjacent(group, phase->peers, phase->to, weights, phase->peers, phase->to,
                                 weights, MPI_INFO_NULL, 0, &phase->comm);
}

static void call(const Phase* phase) {
  MPI_Request request;
  const int bytes = phase->bytes;
  switch (phase->form) {
    case 0:
      MPI_Alltoall(phase->send, bytes, MPI_BYTE, phase->recv, bytes, MPI_BYTE, phase->comm);
      break;
    case 1:
      MPI_Alltoallv(phase->send, phase->send_counts, phase->send_at, MPI_BYTE, phase->recv,
                    phase->recv_counts, phase->recv_at, MPI_BYTE, phase->comm);
      break;
    case 2:
      MPI_Ialltoall(phase->send, bytes, MPI_BYTE, phase->recv, bytes, MPI_BYTE, phase->comm,
                    &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      break;
    default:
      MPI_Neighbor_alltoall(phase->send, bytes, MPI_BYTE, phase->recv, bytes, MPI_BYTE,
                            phase->comm);
  }
}

static void check(const Phase* phase) {
  int rank;
  MPI_Comm_rank(phase->comm, &rank);
  for (int i = 0; i < phase->peers; ++i) {
    for (int at = 0; at < phase->recv_counts[i]; ++at) {
      if (phase->recv[phase->recv_at[i] + at] == pattern(phase->to[i], rank, at)) continue;
      fprintf(stderr, "%s: wrong byte %d from rank %d\n", kFormNames[phase->form], at,
              phase->to[i]);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
}

static void run(Phase* phase, int calls) {
  for (int i = 0; i < calls; ++i) {
    const int checked = i == 0 || i == calls - 1;
    for (int peer = 0; checked && peer < phase->peers; ++peer) {
      memset(phase->recv + phase->recv_at[peer], 0, (size_t)phase->recv_counts[peer]);
    }
    call(phase);
    if (checked) check(phase);
  }
}

int main(int argc, char** argv) {
  const double begun = now();
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 4 || ranks > kRanksMax || ranks < 6) {
    if (rank == 0) fprintf(stderr, "usage: random_program SEED CALLS BYTES, with 6 to 128 ranks\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  state = strtoul(argv[1], NULL, 10) * 2654435761ul + 12345;
  const int calls = atoi(argv[2]);
  const double budget = atof(argv[3]);
  for (int i = 0; i < 8; ++i) draw();
  const int phases = 1 + (int)(draw() * kPhasesMax);
  for (int number = 0; number < phases; ++number) {
    Phase phase = {.form = (int)(draw() * kForms)};
    const int group = (int)(draw() * kGroups);
    const int part = calls / phases + (number < calls % phases);
    // As large as the budget allows, down to 8 bytes: evenly by the logarithm.
    const double most = fmax(8, budget / calls / (ranks - 1));
    phase.bytes = (int)(8 * pow(most / 8, draw()));
    MPI_Comm comm;
    const int colour = group == 0 ? 0 : group == 1 ? rank < ranks / 2 : rank % 2;
    MPI_Comm_split(MPI_COMM_WORLD, colour, rank, &comm);
    prepare(&phase, comm);
    const double start = now();
    run(&phase, part);
    if (rank == 0) {
      printf("%d %s of %d bytes, %s: %.6f\n", part, kFormNames[phase.form], phase.bytes,
             kGroupNames[group], now() - start);
    }
    if (phase.comm != comm) MPI_Comm_free(&phase.comm);
    MPI_Comm_free(&comm);
    free(phase.send);
    free(phase.recv);
  }
  MPI_Finalize();
  printf("seconds %.6f\n", now() - begun);
  return 0;
}
