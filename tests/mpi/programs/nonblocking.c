// MPI_Ialltoall, MPI_Ialltoallv and MPI_Ialltoallw.
// Usage: nonblocking calls|types|blocks|in_place|wide|orders|freed|unfinished|error|handler|level,
// or nonblocking speed BYTES REPEATS
#include <time.h>

#include "check.h"

enum { kRanksMax = 64, kPending = 4 };

static int rank, ranks;

static double now_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static void nap_ms(long ms) {
  const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&time, NULL);
}

// An exchange of plain bytes under way.
typedef struct {
  unsigned char *send, *recv;
  long bytes;
  unsigned call;
  int self, size;
  MPI_Request request;
} Flight;

static void begin(Flight* flight, MPI_Comm comm, long bytes, unsigned call) {
  MPI_Comm_rank(comm, &flight->self);
  MPI_Comm_size(comm, &flight->size);
  flight->bytes = bytes;
  flight->call = call;
  flight->send = (unsigned char*)allocate(flight->size * bytes);
  flight->recv = (unsigned char*)allocate(flight->size * bytes);
  memset(flight->recv, 0xa5, (size_t)(flight->size * bytes));
  for (int to = 0; to < flight->size; ++to) {
    for (long i = 0; i < bytes; ++i) {
      flight->send[to * bytes + i] = pattern(flight->self, to, i, call);
    }
  }
  expect(MPI_Ialltoall(flight->send, (int)bytes, MPI_BYTE, flight->recv, (int)bytes, MPI_BYTE, comm,
                       &flight->request) == MPI_SUCCESS,
         "MPI_Ialltoall");
  expect(flight->request != MPI_REQUEST_NULL, "a request");
}

static void land(Flight* flight) {
  for (int from = 0; from < flight->size; ++from) {
    for (long i = 0; i < flight->bytes; ++i) {
      expect(flight->recv[from * flight->bytes + i] == pattern(from, flight->self, i, flight->call),
             "received bytes");
    }
  }
  free(flight->send);
  free(flight->recv);
}

// Every way to wait for a request, several under way at once, blocking calls in between.
static void calls(void) {
  static const long kSizes[] = {1, 100, 1449, 30000};
  unsigned call = 0;
  for (size_t s = 0; s < sizeof kSizes / sizeof *kSizes; ++s) {
    const long bytes = kSizes[s];
    Flight flights[kPending];
    MPI_Request requests[kPending];
    MPI_Status status;
    for (int way = 0; way < 6; ++way) {
      for (int i = 0; i < kPending; ++i) {
        begin(&flights[i], MPI_COMM_WORLD, bytes, ++call);
        requests[i] = flights[i].request;
      }
      if (way % 2 == 1) exchange_bytes(MPI_COMM_WORLD, bytes, ++call);
      if (way % 3 == 1) MPI_Barrier(MPI_COMM_WORLD);
      int done = 0, index = 0, indices[kPending], count = -1, cancelled = -1;
      switch (way) {
        case 0:
          for (int i = 0; i < kPending; ++i) {
            status.MPI_ERROR = MPI_SUCCESS;
            expect(MPI_Wait(&requests[i], &status) == MPI_SUCCESS, "MPI_Wait");
            MPI_Get_count(&status, MPI_BYTE, &count);
            MPI_Test_cancelled(&status, &cancelled);
            // The status of the library's own requests is undefined.
            expect(!getenv("ALLEMANDE_PROGRESS") || (count == 0 && cancelled == 0), "status");
          }
          break;
        case 1:
          expect(MPI_Waitall(kPending, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS, "Waitall");
          break;
        case 2:
          for (int i = 0; i < kPending; ++i) {
            for (done = 0; !done;) MPI_Test(&requests[i], &done, MPI_STATUS_IGNORE);
          }
          break;
        case 3:
          for (int i = 0; i < kPending; ++i) {
            MPI_Waitany(kPending, requests, &index, &status);
            expect(index >= 0 && index < kPending, "MPI_Waitany");
          }
          break;
        case 4:
          while (done < kPending) {
            MPI_Testsome(kPending, requests, &count, indices, MPI_STATUSES_IGNORE);
            if (count > 0) done += count;
          }
          break;
        default:
          for (int i = 0; i < kPending; ++i) {
            for (done = 0; !done;) MPI_Request_get_status(requests[i], &done, &status);
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
          }
      }
      for (int i = 0; i < kPending; ++i) {
        expect(requests[i] == MPI_REQUEST_NULL, "the request is gone");
        land(&flights[i]);
      }
    }
  }
}

// Elements with gaps, whose type is freed while the exchange is under way; in place too.
static void types(void) {
  enum { kCount = 500 };
  const size_t extent = 3 * sizeof(int), length = (size_t)ranks * kCount * 3;
  int* send = (int*)allocate((long)(length * sizeof(int)));
  int* recv = (int*)allocate((long)(length * sizeof(int)));
  for (int in_place = 0; in_place < 2; ++in_place) {
    for (int repeat = 0; repeat < 5; ++repeat) {
      const int offset = 1000000 * (repeat + 1) + 7 * in_place;
      MPI_Datatype pair, type;
      MPI_Type_vector(2, 1, 2, MPI_INT, &pair);  // of three the first and the last
      MPI_Type_create_resized(pair, 0, (MPI_Aint)extent, &type);
      MPI_Type_commit(&type);
      for (size_t i = 0; i < length; ++i) send[i] = recv[i] = -1;
      for (int to = 0; to < ranks; ++to) {
        int* block = (in_place ? recv : send) + (size_t)to * kCount * 3;
        for (int e = 0; e < kCount; ++e) {
          block[3 * e] = offset + 1000 * rank + to + e;
          block[3 * e + 2] = -offset - 1000 * rank - to - e;
        }
      }
      MPI_Request request;
      MPI_Ialltoall(in_place ? MPI_IN_PLACE : (void*)send, in_place ? 0 : kCount,
                    in_place ? MPI_DATATYPE_NULL : type, recv, kCount, type, MPI_COMM_WORLD,
                    &request);
      MPI_Type_free(&type);
      MPI_Type_free(&pair);
      expect(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS, "MPI_Wait");
      for (int from = 0; from < ranks; ++from) {
        const int* block = recv + (size_t)from * kCount * 3;
        for (int e = 0; e < kCount; ++e) {
          expect(block[3 * e] == offset + 1000 * from + rank + e, "first of an element");
          expect(block[3 * e + 1] == -1, "the gap");
          expect(block[3 * e + 2] == -offset - 1000 * from - rank - e, "last of an element");
        }
      }
    }
  }
  free(send);
  free(recv);
}

// What has come in a block of its own room from every rank, and nothing behind it.
static void check_blocks(const int* recv, const int* counts, int room, int repeat) {
  for (int from = 0; from < ranks; ++from) {
    for (int i = 0; i < room; ++i) {
      const int right = i < counts[from] ? 1000 * from + rank + i + repeat : -1;
      expect(recv[from * room + i] == right, "received block");
    }
  }
}

// Blocks of different sizes; types are freed at once.
static void blocks(void) {
  const int room = 1000 + 10 * ranks;
  int counts[kRanksMax], back[kRanksMax], at[kRanksMax], at_bytes[kRanksMax];
  int* send = (int*)allocate((long)ranks * room * (long)sizeof(int));
  int* recv = (int*)allocate((long)ranks * room * (long)sizeof(int));
  for (int i = 0; i < ranks; ++i) {
    counts[i] = (rank + 2 * i) % 4 == 3 ? 0 : 100 * ((rank + 2 * i) % 7) + i;
    back[i] = (i + 2 * rank) % 4 == 3 ? 0 : 100 * ((i + 2 * rank) % 7) + rank;
    at[i] = i * room;
    at_bytes[i] = i * room * (int)sizeof(int);
  }
  MPI_Datatype own, mixed[kRanksMax];
  for (int repeat = 0; repeat < 10; ++repeat) {
    for (int i = 0; i < ranks * room; ++i) send[i] = -1, recv[i] = -1;
    for (int to = 0; to < ranks; ++to) {
      for (int i = 0; i < counts[to]; ++i) send[at[to] + i] = 1000 * rank + to + i + repeat;
    }
    MPI_Request request;
    if (repeat % 2 == 0) {
      MPI_Ialltoallv(send, counts, at, MPI_INT, recv, back, at, MPI_INT, MPI_COMM_WORLD, &request);
    } else {
      MPI_Type_create_resized(MPI_INT, 0, sizeof(int), &own);
      MPI_Type_commit(&own);
      for (int i = 0; i < ranks; ++i) mixed[i] = i % 2 ? own : MPI_INT;
      MPI_Ialltoallw(send, counts, at_bytes, mixed, recv, back, at_bytes, mixed, MPI_COMM_WORLD,
                     &request);
      MPI_Type_free(&own);
    }
    expect(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS, "MPI_Wait");
    check_blocks(recv, back, room, repeat);
  }
  free(send);
  free(recv);
}

// What goes to a peer and what comes from it has the same size and place.
static void in_place(void) {
  enum { kRoom = 300 };
  int counts[kRanksMax], at[kRanksMax], at_bytes[kRanksMax];
  MPI_Datatype kinds[kRanksMax];
  int* both = (int*)allocate((long)ranks * kRoom * (long)sizeof(int));
  for (int i = 0; i < ranks; ++i) {
    counts[i] = 50 * ((rank + i) % 5);
    at[i] = i * kRoom;
    at_bytes[i] = i * kRoom * (int)sizeof(int);
    kinds[i] = MPI_INT;
  }
  for (int repeat = 0; repeat < 6; ++repeat) {
    for (int to = 0; to < ranks; ++to) {
      for (int i = 0; i < kRoom; ++i) {
        both[at[to] + i] = i < counts[to] ? 1000 * rank + to + i + repeat : -1;
      }
    }
    MPI_Request request;
    if (repeat % 2 == 0) {
      MPI_Ialltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, both, counts, at, MPI_INT,
                     MPI_COMM_WORLD, &request);
    } else {
      MPI_Ialltoallw(MPI_IN_PLACE, NULL, NULL, NULL, both, counts, at_bytes, kinds, MPI_COMM_WORLD,
                     &request);
    }
    expect(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS, "MPI_Wait");
    check_blocks(both, counts, kRoom, repeat);
  }
  free(both);
}

// The forms with large counts, where the library has them.
static void wide(void) {
#if MPI_VERSION >= 4
  enum { kSize = 700 };
  MPI_Count counts[kRanksMax];
  MPI_Aint at[kRanksMax];
  MPI_Datatype kinds[kRanksMax];
  unsigned char* send = (unsigned char*)allocate((long)ranks * kSize);
  unsigned char* recv = (unsigned char*)allocate((long)ranks * kSize);
  for (int i = 0; i < ranks; ++i)
    counts[i] = kSize, at[i] = (MPI_Aint)i * kSize, kinds[i] = MPI_BYTE;
  for (unsigned call = 0; call < 9; ++call) {
    for (int to = 0; to < ranks; ++to) {
      for (int i = 0; i < kSize; ++i) send[to * kSize + i] = pattern(rank, to, i, call);
    }
    memset(recv, 0xa5, (size_t)(ranks * kSize));
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Request request;
    if (call % 3 == 0) {
      MPI_Ialltoall_c(send, kSize, MPI_BYTE, recv, kSize, MPI_BYTE, comm, &request);
    } else if (call % 3 == 1) {
      MPI_Ialltoallv_c(send, counts, at, MPI_BYTE, recv, counts, at, MPI_BYTE, comm, &request);
    } else {
      MPI_Ialltoallw_c(send, counts, at, kinds, recv, counts, at, kinds, comm, &request);
    }
    expect(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS, "MPI_Wait");
    for (int from = 0; from < ranks; ++from) {
      for (int i = 0; i < kSize; ++i) {
        expect(recv[from * kSize + i] == pattern(from, rank, i, call), "large counts");
      }
    }
  }
  free(send);
  free(recv);
#else
  in_place();
#endif
}

// Ranks begin on two communicators in different orders; and one goes on while the other waits for
// a late rank.
static void orders(void) {
  MPI_Comm comms[2];
  for (int i = 0; i < 2; ++i) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    exchange_bytes(comms[i], 100, (unsigned)i);  // it comes up
  }
  for (unsigned repeat = 0; repeat < 10; ++repeat) {
    Flight flights[2];
    const int first = (rank + (int)repeat) % 2;
    begin(&flights[first], comms[first], 20000, repeat);
    begin(&flights[1 - first], comms[1 - first], 20000, repeat);
    for (int i = 0; i < 2; ++i) {
      MPI_Wait(&flights[i].request, MPI_STATUS_IGNORE);
      land(&flights[i]);
    }
  }
  Flight early, late;
  if (rank > 0) begin(&late, comms[0], 20000, 77);
  begin(&early, comms[1], 20000, 78);
  MPI_Wait(&early.request, MPI_STATUS_IGNORE);
  land(&early);
  exchange_bytes(comms[1], 20000, 79);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) begin(&late, comms[0], 20000, 77);
  MPI_Wait(&late.request, MPI_STATUS_IGNORE);
  land(&late);
  for (int i = 0; i < 2; ++i) MPI_Comm_free(&comms[i]);
}

// A communicator may be freed while an exchange is under way on it.
static void freed(void) {
  for (unsigned repeat = 0; repeat < 10; ++repeat) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    exchange_bytes(comm, 10, repeat);
    if (rank == 0) nap_ms(20);
    Flight flight;
    begin(&flight, comm, 50000, repeat);
    MPI_Comm_free(&comm);
    exchange_bytes(MPI_COMM_WORLD, 100, repeat);
    MPI_Wait(&flight.request, MPI_STATUS_IGNORE);
    land(&flight);
  }
}

// Nobody waits, as nobody should do: MPI_Finalize comes all the same.
static void unfinished(void) {
  Flight flight;
  begin(&flight, MPI_COMM_WORLD, 100000, 1);
  if (rank == 0) nap_ms(200);
}

static int handled, handled_by_world, handled_code;

static void handler(MPI_Comm* comm, int* code, ...) {
  handled_code = *code;
  ++*(*comm == MPI_COMM_WORLD ? &handled_by_world : &handled);
}

// Two ranks do not agree on a size.
static void error(int own_handler) {
  static unsigned char send[kRanksMax * 100000], recv[kRanksMax * 100000];
  int sent[kRanksMax], expected[kRanksMax], at[kRanksMax];
  MPI_Comm comm;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  if (own_handler) {
    MPI_Errhandler mine;
    MPI_Comm_create_errhandler(handler, &mine);
    MPI_Comm_set_errhandler(comm, mine);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, mine);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, mine);
    MPI_Errhandler_free(&mine);
  } else {
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  }
  expect(exchange_bytes(comm, 10, 1) == MPI_SUCCESS, "a right call first");
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < ranks; ++i) sent[i] = expected[i] = 2000, at[i] = i * 100000;
  if (rank == 0) sent[1] = 5000;
  int code = MPI_SUCCESS, text_length = 0, again = MPI_SUCCESS;
  for (int repeat = 0; repeat < 2; ++repeat) {  // those who are not concerned hear of it later
    MPI_Request request = MPI_REQUEST_NULL;
    code = MPI_Ialltoallv(send, sent, at, MPI_BYTE, recv, expected, at, MPI_BYTE, comm, &request);
    if (code == MPI_SUCCESS) {
      MPI_Status status;
      status.MPI_ERROR = MPI_SUCCESS;
      code = MPI_Wait(&request, &status);
    }
    if (repeat == 0) MPI_Barrier(MPI_COMM_WORLD);
  }
  // MPICH's functions return MPI_SUCCESS once a handler of the program's own has run.
  if (own_handler) code = handled_code;
  expect(code != MPI_SUCCESS, "an error");
  again = MPI_Alltoall(MPI_IN_PLACE, 0, MPI_BYTE, recv, 10, MPI_BYTE, comm);
  expect(again != MPI_SUCCESS, "an error in the next call");
  expect(!own_handler || handled > 0, "the handler of the communicator");
  char text[MPI_MAX_ERROR_STRING];
  MPI_Error_string(code, text, &text_length);
  printf("ERROR rank %d: %s; handled %d, by MPI_COMM_WORLD %d\n", rank, text, handled,
         handled_by_world);
  fflush(stdout);
}

static int compare(const void* a, const void* b) {
  const double difference = *(const double*)a - *(const double*)b;
  return difference < 0 ? -1 : difference > 0;
}

// Median times of a blocking call, of a nonblocking one waited for, of as long a computation, and
// of both at once; of the slowest rank, in ms.
static void speed(long bytes, int repeats) {
  enum { kBlocking, kNonblocking, kComputing, kBoth, kCases };
  double* times[kCases];
  unsigned char* send = (unsigned char*)allocate(ranks * bytes);
  unsigned char* recv = (unsigned char*)allocate(ranks * bytes);
  memset(send, rank, (size_t)(ranks * bytes));
  memset(recv, 0, (size_t)(ranks * bytes));
  for (int which = 0; which < kCases; ++which) {
    times[which] = (double*)allocate(repeats * (long)sizeof(double));
  }
  double pause = 0;  // stands for computation without asking for a core, of which there may be few
  for (int i = -2; i < repeats; ++i) {
    for (int which = 0; which < kCases; ++which) {
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Barrier(MPI_COMM_WORLD);
      const double begun = now_ms();
      if (which == kBlocking) {
        MPI_Alltoall(send, (int)bytes, MPI_BYTE, recv, (int)bytes, MPI_BYTE, MPI_COMM_WORLD);
      }
      if (which == kNonblocking || which == kBoth) {
        MPI_Ialltoall(send, (int)bytes, MPI_BYTE, recv, (int)bytes, MPI_BYTE, MPI_COMM_WORLD,
                      &request);
      }
      if (which == kComputing || which == kBoth) nap_ms((long)pause);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      double mine = now_ms() - begun, slowest = 0;
      MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
      if (i >= 0) times[which][i] = slowest;
      if (which == kNonblocking) pause = slowest + 1;
    }
  }
  for (int which = 0; which < kCases; ++which) {
    qsort(times[which], (size_t)repeats, sizeof(double), compare);
  }
  if (rank == 0) {
    printf("SPEED %ld bytes: blocking %.3f nonblocking %.3f computing %.3f both %.3f ms\n", bytes,
           times[kBlocking][repeats / 2], times[kNonblocking][repeats / 2],
           times[kComputing][repeats / 2], times[kBoth][repeats / 2]);
  }
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "calls";
  int provided = -1;
  if (strcmp(what, "level") == 0) {
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    expect(provided >= MPI_THREAD_FUNNELED, "the level asked for");
  } else if (argc == 3 && strcmp(argv[2], "multiple") == 0) {
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  } else {
    MPI_Init(&argc, &argv);
    MPI_Query_thread(&provided);
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (strcmp(what, "calls") == 0) calls();
  if (strcmp(what, "types") == 0) types();
  if (strcmp(what, "blocks") == 0) blocks();
  if (strcmp(what, "in_place") == 0) in_place();
  if (strcmp(what, "wide") == 0) wide();
  if (strcmp(what, "orders") == 0) orders();
  if (strcmp(what, "freed") == 0) freed();
  if (strcmp(what, "unfinished") == 0) unfinished();
  if (strcmp(what, "error") == 0) error(0);
  if (strcmp(what, "handler") == 0) error(1);
  if (strcmp(what, "speed") == 0 && argc > 3) speed(atol(argv[2]), atoi(argv[3]));
  if (rank == 0) printf("LEVEL %d\n", provided == MPI_THREAD_MULTIPLE);
  MPI_Finalize();
  if (rank == 0) printf("CORRECT\n");
  return 0;
}
