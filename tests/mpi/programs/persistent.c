// MPI_Alltoall_init, MPI_Alltoallv_init and MPI_Alltoallw_init.
// Usage: persistent calls|blocks|orders|reused|unseen|freed|cancelled|error|handler [single]
#define _GNU_SOURCE  // dladdr
#include <dlfcn.h>

#include "check.h"
#if OPEN_MPI
#include <mpi-ext.h>
#endif

enum { kRanksMax = 64, kRoom = 600, kStarts = 4 };

static int rank, ranks, single;

// As the MPI library at hand calls them; null where it has none.
#if MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5
#define INIT(form) MPI_##form##_init
#elif OMPI_HAVE_MPI_EXT_PCOLLREQ
#define INIT(form) MPIX_##form##_init
#endif

// Forms of the same exchange: 0 and 3 of blocks of one size, the others of any; from 3 on with
// large counts.
enum { kForms = 6 };

typedef struct {
  int form, self, size;
  MPI_Request request;
  int counts[kRanksMax], back[kRanksMax], at[kRanksMax], at_bytes[kRanksMax];
  MPI_Count wide_counts[kRanksMax], wide_back[kRanksMax];
  MPI_Aint wide_at[kRanksMax], wide_at_bytes[kRanksMax];
  MPI_Datatype types[kRanksMax];
  int send[kRanksMax * kRoom], recv[kRanksMax * kRoom];
} Call;

static int wide_forms(void) {
#if MPI_VERSION >= 4
  return 1;
#else
  return 0;
#endif
}

static void make(Call* call, int form, MPI_Comm comm) {
  MPI_Comm_rank(comm, &call->self);
  MPI_Comm_size(comm, &call->size);
  call->form = form;
  const int equal = form % 3 == 0;
  for (int i = 0; i < call->size; ++i) {
    call->counts[i] = equal                           ? kRoom
                      : (call->self + 2 * i) % 4 == 3 ? 0
                                                      : 70 * ((call->self + i) % 7);
    call->back[i] = equal ? kRoom : (i + 2 * call->self) % 4 == 3 ? 0 : 70 * ((call->self + i) % 7);
    call->at[i] = i * kRoom;
    call->at_bytes[i] = i * kRoom * (int)sizeof(int);
    call->types[i] = MPI_INT;
    call->wide_counts[i] = call->counts[i], call->wide_back[i] = call->back[i];
    call->wide_at[i] = call->at[i], call->wide_at_bytes[i] = call->at_bytes[i];
  }
  // It is freed as soon as the call has returned.
  MPI_Datatype own;
  MPI_Type_create_resized(MPI_INT, 0, sizeof(int), &own);
  MPI_Type_commit(&own);
  MPI_Request* request = &call->request;
  const MPI_Info info = MPI_INFO_NULL;
  int code = MPI_SUCCESS;
  switch (form) {
    case 0:
      code =
          INIT(Alltoall)(call->send, kRoom, own, call->recv, kRoom, MPI_INT, comm, info, request);
      break;
    case 1:
      code = INIT(Alltoallv)(call->send, call->counts, call->at, own, call->recv, call->back,
                             call->at, own, comm, info, request);
      break;
    case 2:
      code = INIT(Alltoallw)(call->send, call->counts, call->at_bytes, call->types, call->recv,
                             call->back, call->at_bytes, call->types, comm, info, request);
      break;
#if MPI_VERSION >= 4
    case 3:
      code = MPI_Alltoall_init_c(call->send, kRoom, MPI_INT, call->recv, kRoom, own, comm, info,
                                 request);
      break;
    case 4:
      code = MPI_Alltoallv_init_c(call->send, call->wide_counts, call->wide_at, own, call->recv,
                                  call->wide_back, call->wide_at, own, comm, info, request);
      break;
    case 5:
      code = MPI_Alltoallw_init_c(call->send, call->wide_counts, call->wide_at_bytes, call->types,
                                  call->recv, call->wide_back, call->wide_at_bytes, call->types,
                                  comm, info, request);
      break;
#endif
    default:
      expect(0, "a form");
  }
  if (!single) MPI_Type_free(&own);  // Open MPI 5.0's own use it on
  expect(code == MPI_SUCCESS && *request != MPI_REQUEST_NULL, "a request");
}

static void fill(Call* call, int salt) {
  for (int i = 0; i < call->size * kRoom; ++i) call->send[i] = call->recv[i] = -1;
  for (int to = 0; to < call->size; ++to) {
    for (int i = 0; i < call->counts[to]; ++i) {
      call->send[to * kRoom + i] = salt + 1000 * call->self + to + i;
    }
  }
}

static void check(const Call* call, int salt) {
  for (int from = 0; from < call->size; ++from) {
    for (int i = 0; i < kRoom; ++i) {
      const int right = i < call->back[from] ? salt + 1000 * from + call->self + i : -1;
      expect(call->recv[from * kRoom + i] == right, "a received element");
    }
  }
}

static void start(Call* call, int salt) {
  fill(call, salt);
  expect(MPI_Start(&call->request) == MPI_SUCCESS, "MPI_Start");
}

static void finish(Call* call, int salt) {
  expect(MPI_Wait(&call->request, MPI_STATUS_IGNORE) == MPI_SUCCESS, "MPI_Wait");
  expect(call->request != MPI_REQUEST_NULL, "the request stays");
  check(call, salt);
}

static void end(Call* call) {
  expect(MPI_Request_free(&call->request) == MPI_SUCCESS, "MPI_Request_free");
  expect(call->request == MPI_REQUEST_NULL, "the request is gone");
}

static Call* some(int forms) { return (Call*)allocate(forms * (long)sizeof(Call)); }

// Every form, started alone and together, beside other calls; every way to wait.
static void calls(void) {
  const int forms = wide_forms() ? kForms : 3;
  Call* all = some(forms);
  for (int i = 0; i < forms; ++i) make(&all[i], i, MPI_COMM_WORLD);
  for (int way = 0; way < 8; ++way) {
    const int salt = 100000 * (way + 1);
    MPI_Request requests[kForms];
    for (int i = 0; i < forms; ++i) {
      fill(&all[i], salt + i);
      requests[i] = all[i].request;
    }
    if (way % 2 == 0) {
      for (int i = 0; i < forms; ++i) MPI_Start(&requests[(i + rank) % forms]);
    } else {
      expect(MPI_Startall(forms, requests) == MPI_SUCCESS, "MPI_Startall");
    }
    if (way % 3 == 0) exchange_bytes(MPI_COMM_WORLD, 700, (unsigned)way);
    if (way % 3 == 1) MPI_Barrier(MPI_COMM_WORLD);
    int done = 0, index = 0, count = 0, indices[kForms];
    MPI_Status statuses[kForms];
    switch (way) {
      case 0:
      case 1:
        for (int i = 0; i < forms; ++i) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        break;
      case 2:
        MPI_Waitall(forms, requests, statuses);
        break;
      case 3:
        for (int i = 0; i < forms; ++i) {
          MPI_Waitany(forms, requests, &index, statuses);
          expect(index >= 0 && index < forms, "MPI_Waitany");
        }
        break;
      case 4:
        for (int found = 0; found < forms; found += count) {
          MPI_Waitsome(forms, requests, &count, indices, statuses);
        }
        break;
      case 5:
        for (int i = 0; i < forms; ++i) {
          for (done = 0; !done;) MPI_Test(&requests[i], &done, statuses);
        }
        break;
      case 6:
        // MPICH 5.0's own end there with an error.
        if (single) MPI_Waitall(forms, requests, statuses);
        while (!single && !done) MPI_Testall(forms, requests, &done, statuses);
        break;
      default:
        for (int found = 0; found<forms; found += count> 0 ? count : 0) {
          MPI_Testsome(forms, requests, &count, indices, statuses);
        }
    }
    for (int i = 0; i < forms; ++i) {
      expect(requests[i] == all[i].request, "the request stays");
      check(&all[i], salt + i);
    }
  }
  for (int i = 0; i < forms; ++i) end(&all[i]);
  free(all);
}

// Two of them on two communicators, started in different orders; one goes on while the other waits
// for a late rank.
static void orders(void) {
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Comm comms[3] = {MPI_COMM_WORLD, MPI_COMM_WORLD, half};
  Call* all = some(3);
  for (int i = 0; i < 3; ++i) make(&all[i], i % 2, comms[i]);
  for (int repeat = 0; repeat < kStarts; ++repeat) {
    for (int i = 0; i < 3; ++i) start(&all[(i + rank + repeat) % 3], 5000 * repeat);
    for (int i = 0; i < 3; ++i) finish(&all[i], 5000 * repeat);
  }
  if (rank > 0) start(&all[0], 77);
  start(&all[1], 78);
  finish(&all[1], 78);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) start(&all[0], 77);
  finish(&all[0], 77);
  for (int i = 0; i < 3; ++i) end(&all[i]);
  MPI_Comm_free(&half);
  free(all);
}

// Made, started and freed again and again; one is freed that was never started.
static void reused(void) {
  Call* call = some(1);
  for (int repeat = 0; repeat < 20; ++repeat) {
    make(call, repeat % 3, MPI_COMM_WORLD);
    for (int i = 0; i < repeat % 3; ++i) {
      start(call, 100 * repeat + i);
      finish(call, 100 * repeat + i);
    }
    end(call);
  }
  free(call);
}

// By a function that a library in front of the MPI library does not see.
static void unseen(void) {
  Dl_info info;
  dladdr(dlsym(RTLD_DEFAULT, "MPI_Get_processor_name"), &info);
  void* library = dlopen(info.dli_fname, RTLD_NOLOAD | RTLD_LAZY);
  int (*hidden)(MPI_Request*) = NULL;
  *(void**)&hidden = dlsym(library, "MPI_Start");
  expect(hidden != NULL && hidden != MPI_Start, "the library's own MPI_Start");
  Call* call = some(1);
  make(call, 0, MPI_COMM_WORLD);
  for (int repeat = 0; repeat < 20; ++repeat) {
    fill(call, repeat);
    (repeat % 5 == 4 ? MPI_Start : hidden)(&call->request);
    finish(call, repeat);
  }
  end(call);
  free(call);
}

// Requests outlive their communicator.
static void freed(void) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  Call* call = some(1);
  make(call, 1, comm);
  start(call, 1);
  MPI_Comm_free(&comm);
  finish(call, 1);
  exchange_bytes(MPI_COMM_WORLD, 500, 1);
  for (int repeat = 0; repeat < kStarts; ++repeat) {
    start(call, repeat);
    finish(call, repeat);
  }
  end(call);
  free(call);
}

// A collective cannot be cancelled.
static void cancelled(void) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  Call* call = some(1);
  make(call, 0, MPI_COMM_WORLD);
  // One rank after the other, while the exchange waits for those that have not started it.
  for (int first = 0; first < ranks; ++first) {
    if (rank != first) MPI_Barrier(MPI_COMM_WORLD);
    start(call, 1);
    if (rank == first) {
      int class = MPI_SUCCESS;
      MPI_Error_class(MPI_Cancel(&call->request), &class);
      expect(class == MPI_ERR_REQUEST, "MPI_Cancel");
      MPI_Barrier(MPI_COMM_WORLD);
    }
    finish(call, 1);
  }
  end(call);
  free(call);
}

static int told_by_handler;

static void handler(MPI_Comm* comm, int* code, ...) {
  (void)code;
  if (*comm == MPI_COMM_WORLD) ++told_by_handler;
}

// Rank 0 expects less than rank 1 sends it: who waits gets the error, each time.
static void error(int with_handler) {
  MPI_Errhandler own = MPI_ERRORS_RETURN;
  if (with_handler) MPI_Comm_create_errhandler(handler, &own);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, own);
  Call* call = some(1);
  make(call, 1, MPI_COMM_WORLD);
  for (int i = 0; i < ranks; ++i) call->counts[i] = call->back[i] = 100;
  if (rank == 0) call->back[1] = 50;
  MPI_Request_free(&call->request);
  INIT(Alltoallv)
  (call->send, call->counts, call->at, MPI_INT, call->recv, call->back, call->at, MPI_INT,
   MPI_COMM_WORLD, MPI_INFO_NULL, &call->request);
  // Those who are not concerned hear of it later.
  MPI_Start(&call->request);
  MPI_Wait(&call->request, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  told_by_handler = 0;
  for (int way = 0; way < 4; ++way) {
    MPI_Start(&call->request);
    MPI_Status status = {0};
    int code = MPI_SUCCESS, done = 0, index = -1;
    if (way == 0) code = MPI_Wait(&call->request, &status);
    while (way == 1 && !done) code = MPI_Test(&call->request, &done, &status);
    if (way == 2) {
      expect(MPI_Waitall(1, &call->request, &status) == MPI_ERR_IN_STATUS, "MPI_ERR_IN_STATUS");
      code = status.MPI_ERROR;
    }
    if (way == 3) code = MPI_Waitany(1, &call->request, &index, &status);
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    expect(code != MPI_SUCCESS, "an error");
    MPI_Error_string(code, text, &length);
    if (way == 0) printf("ERROR %s\n", text);
  }
  expect(!with_handler || told_by_handler == 4, "the handler of the communicator");
  fflush(stdout);
  free(call);
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  single = argc > 2 && strcmp(argv[2], "single") == 0;
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, single ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  expect(ranks <= kRanksMax, "not that many ranks");
  if (strcmp(what, "calls") == 0) calls();
  if (strcmp(what, "orders") == 0) orders();
  if (strcmp(what, "reused") == 0) reused();
  if (strcmp(what, "unseen") == 0) unseen();
  if (strcmp(what, "freed") == 0) freed();
  if (strcmp(what, "cancelled") == 0) cancelled();
  if (strcmp(what, "error") == 0) error(0);
  if (strcmp(what, "handler") == 0) error(1);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) puts("CORRECT");
  MPI_Finalize();
  return 0;
}
