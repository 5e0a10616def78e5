// What is wrong comes back as a code of the right class. Usage: errors WHAT
//   arguments
//   mismatch FROM TO SENT EXPECTED: one block on which two ranks do not agree
//   later CALL: in this call of MPI_Alltoallv rank 1 expects more of rank 0 than that sends; all go
//     on calling
//   blocks RANK SENT EXPECTED [fatal]: the blocks that RANK sends and expects; the others' have
//     20000 bytes. fatal: errors end the job
#include "check.h"

static int rank, ranks;

static int class_of(int code) {
  int class = 0;
  MPI_Error_class(code, &class);
  return class;
}

// Errors that every rank makes alike: the library says so, and nobody has begun anything.
static void arguments(void) {
  enum { kMax = 64 };
  int ones[kMax], negative[kMax], at[kMax], room[2 * kMax];
  MPI_Datatype types[kMax], open_types[kMax], null_types[kMax], open;
  MPI_Type_contiguous(2, MPI_INT, &open);  // never committed
  for (int i = 0; i < ranks; ++i) {
    ones[i] = 1, negative[i] = -1, at[i] = i;
    types[i] = MPI_INT, open_types[i] = open, null_types[i] = MPI_DATATYPE_NULL;
  }
  int* send = room;
  int* recv = room + kMax;
  MPI_Comm comm = MPI_COMM_WORLD;
  for (int i = 0; i < ranks; ++i) send[i] = 100 * rank + i;

  const int codes[] = {
      MPI_Alltoall(send, -1, MPI_INT, recv, 1, MPI_INT, comm),
      MPI_Alltoallv(send, negative, at, MPI_INT, recv, ones, at, MPI_INT, comm),
      MPI_Alltoallw(send, ones, at, types, recv, negative, at, types, comm),
      MPI_Alltoall(send, 1, MPI_DATATYPE_NULL, recv, 1, MPI_INT, comm),
      MPI_Alltoallv(send, ones, at, MPI_INT, recv, ones, at, MPI_DATATYPE_NULL, comm),
      MPI_Alltoallw(send, ones, at, null_types, recv, ones, at, types, comm),
      MPI_Alltoall(send, 1, open, recv, 1, open, comm),
      MPI_Alltoallv(send, ones, at, open, recv, ones, at, open, comm),
      MPI_Alltoallw(send, ones, at, open_types, recv, ones, at, open_types, comm),
      MPI_Alltoallv(send, ones, at, MPI_INT, recv, ones, at, MPI_INT, MPI_COMM_NULL),
      MPI_Alltoall(send, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, comm),
      MPI_Alltoallv(send, ones, at, MPI_INT, MPI_IN_PLACE, ones, at, MPI_INT, comm),
      MPI_Alltoallw(send, ones, at, types, MPI_IN_PLACE, ones, at, types, comm),
#ifdef MPICH_VERSION  // others read from there
      MPI_Alltoall(NULL, 1, MPI_INT, recv, 1, MPI_INT, comm),
      MPI_Alltoall(send, 1, MPI_INT, NULL, 1, MPI_INT, comm),
#endif
  };
  if (rank == 0) printf("CLASSES");
  for (size_t i = 0; i < sizeof codes / sizeof *codes; ++i) {
    const int class = class_of(codes[i]);
    if (rank > 0) continue;
    printf(" %s", class == MPI_SUCCESS      ? "none"
                  : class == MPI_ERR_COUNT  ? "count"
                  : class == MPI_ERR_TYPE   ? "type"
                  : class == MPI_ERR_COMM   ? "comm"
                  : class == MPI_ERR_ARG    ? "argument"
                  : class == MPI_ERR_BUFFER ? "buffer"
                                            : "other");
  }
  if (rank == 0) puts("");
  fflush(stdout);
  // Nothing of it has harmed anything.
  expect(MPI_Alltoallv(send, ones, at, MPI_INT, recv, ones, at, MPI_INT, comm) == MPI_SUCCESS,
         "a right call after wrong ones");
  for (int i = 0; i < ranks; ++i) expect(recv[i] == 100 * i + rank, "after wrong calls");
  MPI_Type_free(&open);
}

static void report(int call, int code) {
  char text[MPI_MAX_ERROR_STRING] = "no error";
  int length = 0;
  if (code != MPI_SUCCESS) MPI_Error_string(code, text, &length);
  const char* class = code == MPI_SUCCESS                  ? "none"
                      : class_of(code) == MPI_ERR_TRUNCATE ? "truncate"
                      : class_of(code) == MPI_ERR_OTHER    ? "other"
                      : class_of(code) > MPI_ERR_LASTCODE  ? "own"
                                                           : "unexpected";
  char line[MPI_MAX_ERROR_STRING + 80];
  const int bytes =
      snprintf(line, sizeof line, "CALL %d RANK %d CLASS %s: %s\n", call, rank, class, text);
  expect(write(STDOUT_FILENO, line, (size_t)bytes) == bytes, "write");
}

static void mismatch(int from, int to, int sent, int expected) {
  int counts[2][64], at[64];
  const long room = 1 << 20;
  unsigned char* send = (unsigned char*)allocate(ranks * room);
  unsigned char* recv = (unsigned char*)allocate(ranks * room);
  memset(send, rank, (size_t)(ranks * room));
  for (int i = 0; i < ranks; ++i) counts[0][i] = counts[1][i] = 3000, at[i] = (int)(i * room);
  int code =
      MPI_Alltoallv(send, counts[0], at, MPI_BYTE, recv, counts[1], at, MPI_BYTE, MPI_COMM_WORLD);
  expect(code == MPI_SUCCESS, "a right call first");
  MPI_Barrier(MPI_COMM_WORLD);
  // The others may have all they need before they hear of it; not in the call after.
  for (int repeat = 0; repeat < 2; ++repeat) {
    if (rank == from) counts[0][to] = sent;
    if (rank == to) counts[1][from] = expected;
    code =
        MPI_Alltoallv(send, counts[0], at, MPI_BYTE, recv, counts[1], at, MPI_BYTE, MPI_COMM_WORLD);
    report(repeat, code);
  }
  free(send);
  free(recv);
}

static void later(int wrong) {
  const int usual = 2000;
  int counts[2][64], at[64];
  unsigned char* send = (unsigned char*)allocate(2L * ranks * usual);
  unsigned char* recv = (unsigned char*)allocate(2L * ranks * usual);
  memset(send, rank, 2 * (size_t)(ranks * usual));
  for (int i = 0; i < ranks; ++i) counts[0][i] = counts[1][i] = usual, at[i] = 2 * i * usual;
  int code = MPI_SUCCESS;
  for (int call = 1; call <= wrong + 20; ++call) {
    if (rank == 1) counts[1][0] = call == wrong ? usual + 8 : usual;
    code =
        MPI_Alltoallv(send, counts[0], at, MPI_BYTE, recv, counts[1], at, MPI_BYTE, MPI_COMM_WORLD);
    expect(code == MPI_SUCCESS || call >= wrong, "an error before the wrong call");
  }
  report(wrong, code);
  free(send);
  free(recv);
}

static void blocks(int odd, int sent, int expected) {
  const int usual = 20000;
  unsigned char* send = (unsigned char*)allocate((long)ranks * usual * 4);
  unsigned char* recv = (unsigned char*)allocate((long)ranks * usual * 4);
  memset(send, rank, (size_t)(ranks * usual));
  MPI_Comm comm = MPI_COMM_WORLD;
  int code = MPI_Alltoall(send, usual, MPI_BYTE, recv, usual, MPI_BYTE, comm);
  expect(code == MPI_SUCCESS, "a right call first");
  MPI_Barrier(comm);
  if (rank != odd) sent = expected = usual;
  for (int call = 0; call < 2; ++call) {
    report(call, MPI_Alltoall(send, sent, MPI_BYTE, recv, expected, MPI_BYTE, comm));
  }
  free(send);
  free(recv);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (argc > 1 && strcmp(argv[1], "arguments") == 0) {
    arguments();
  } else if (argc > 5 && strcmp(argv[1], "mismatch") == 0) {
    mismatch(atoi(argv[2]), atoi(argv[3]), atoi(argv[4]), atoi(argv[5]));
  } else if (argc > 2 && strcmp(argv[1], "later") == 0) {
    later(atoi(argv[2]));
  } else if (argc > 4 && strcmp(argv[1], "blocks") == 0) {
    if (argc > 5) MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    blocks(atoi(argv[2]), atoi(argv[3]), atoi(argv[4]));
  } else {
    die("usage: errors arguments|mismatch FROM TO SENT EXPECTED|later CALL|"
        "blocks RANK SENT EXPECTED [fatal]");
  }
  MPI_Finalize();
  if (rank == 0) puts("CORRECT");
  return 0;
}
