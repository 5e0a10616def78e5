// Exchanges that are not accelerated, beside others that are. Usage: not_accelerated
// nonblocking|sessions
#include "check.h"

enum { kCount = 50, kMax = 64 };

static int rank, ranks;
static int send[kMax * kCount], recv[kMax * kCount];
static int counts[kMax], at[kMax], bytes_at[kMax];
static MPI_Datatype types[kMax];

static void prepare(int peers, int salt) {
  for (int i = 0; i < peers; ++i) {
    counts[i] = kCount, at[i] = kCount * i, bytes_at[i] = at[i] * (int)sizeof(int);
    types[i] = MPI_INT;
    for (int k = 0; k < kCount; ++k) send[at[i] + k] = salt + 1000 * rank + k;
  }
  memset(recv, 0, sizeof recv);
}

static void verify(const int* from, int peers, int salt, const char* what) {
  for (int i = 0; i < peers; ++i) {
    for (int k = 0; k < kCount; ++k) {
      expect(recv[at[i] + k] == salt + 1000 * from[i] + k, what);
    }
  }
}

static void nonblocking(void) {
  int everybody[kMax];
  for (int i = 0; i < ranks; ++i) everybody[i] = i;
  MPI_Request request;
  for (int round = 0; round < 6; ++round) {
    const int salt = 1000000 * (round + 1);
    prepare(ranks, salt);
    if (round % 3 == 0) {
      MPI_Ialltoall(send, kCount, MPI_INT, recv, kCount, MPI_INT, MPI_COMM_WORLD, &request);
    } else if (round % 3 == 1) {
      MPI_Ialltoallv(send, counts, at, MPI_INT, recv, counts, at, MPI_INT, MPI_COMM_WORLD,
                     &request);
    } else {
      MPI_Ialltoallw(send, counts, bytes_at, types, recv, counts, bytes_at, types, MPI_COMM_WORLD,
                     &request);
    }
    // In the meantime.
    exchange_bytes(MPI_COMM_WORLD, 5000, (unsigned)round);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    verify(everybody, ranks, salt, "nonblocking");
  }

#if MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5
  for (int kind = 0; kind < 3; ++kind) {
    if (kind == 0) {
      MPI_Alltoall_init(send, kCount, MPI_INT, recv, kCount, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL,
                        &request);
    } else if (kind == 1) {
      MPI_Alltoallv_init(send, counts, at, MPI_INT, recv, counts, at, MPI_INT, MPI_COMM_WORLD,
                         MPI_INFO_NULL, &request);
    } else {
      MPI_Alltoallw_init(send, counts, bytes_at, types, recv, counts, bytes_at, types,
                         MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    }
    for (int round = 0; round < 3; ++round) {
      prepare(ranks, 10000 * (round + 1));
      MPI_Start(&request);
      exchange_bytes(MPI_COMM_WORLD, 700, (unsigned)round);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      verify(everybody, ranks, 10000 * (round + 1), "persistent");
    }
    MPI_Request_free(&request);
  }
#endif

  // A ring: two neighbours.
  const int periodic = 1;
  MPI_Comm ring;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &periodic, 0, &ring);
  const int neighbours[2] = {(rank + ranks - 1) % ranks, (rank + 1) % ranks};
  const MPI_Aint far_at[2] = {0, kCount * (MPI_Aint)sizeof(int)};
  for (int kind = 0; kind < 3; ++kind) {
    prepare(2, 77 + kind);
    if (kind == 0) MPI_Neighbor_alltoall(send, kCount, MPI_INT, recv, kCount, MPI_INT, ring);
    if (kind == 1) {
      MPI_Neighbor_alltoallv(send, counts, at, MPI_INT, recv, counts, at, MPI_INT, ring);
    }
    if (kind == 2) {
      MPI_Neighbor_alltoallw(send, counts, far_at, types, recv, counts, far_at, types, ring);
    }
    verify(neighbours, 2, 77 + kind, "neighbours");
    exchange_bytes(ring, 900, (unsigned)kind);
  }
  MPI_Comm_free(&ring);
}

// A program without MPI_Init.
static void sessions(void) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  expect(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session) == MPI_SUCCESS,
         "MPI_Session_init");
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "allemande.test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Group_free(&group);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  int everybody[kMax];
  for (int i = 0; i < ranks; ++i) everybody[i] = i;
  for (unsigned call = 0; call < 3; ++call) {
    exchange_bytes(comm, 3000, call);
    prepare(ranks, (int)call);
    MPI_Alltoallv(send, counts, at, MPI_INT, recv, counts, at, MPI_INT, comm);
    verify(everybody, ranks, (int)call, "v in a session");
    prepare(ranks, 5 + (int)call);
    MPI_Alltoallw(send, counts, bytes_at, types, recv, counts, bytes_at, types, comm);
    verify(everybody, ranks, 5 + (int)call, "w in a session");
  }
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  if (strcmp(what, "sessions") == 0) {
    sessions();
  } else {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (strcmp(what, "both") == 0) sessions();
    if (strcmp(what, "nonblocking") == 0) nonblocking();
    exchange_bytes(MPI_COMM_WORLD, 1000, 1);
    MPI_Finalize();
  }
  if (rank == 0) puts("CORRECT");
  return 0;
}
