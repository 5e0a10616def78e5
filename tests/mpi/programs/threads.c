// Several threads, each with a communicator of its own, exchange at once.
// Usage: threads THREADS CALLS BYTES: on each communicator CALLS times MPI_Alltoall of BYTES per
// pair, then CALLS times MPI_Alltoallv of up to twice as many. Rank 0 prints how long it took.
#include <pthread.h>

#include "check.h"

typedef struct {
  MPI_Comm comm;
  pthread_t thread;
  long calls, bytes;
  unsigned salt;
} Worker;

static long size_of(long bytes, int from, int to, unsigned call) {
  return (from * 7 + to * 3 + (long)call) % 5 * bytes / 2;
}

static void exchange_blocks(MPI_Comm comm, long bytes, unsigned call) {
  int rank = 0, ranks = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  int* counts = (int*)allocate(4L * ranks * (long)sizeof(int));
  int *send_at = counts + ranks, *recv_counts = counts + 2 * ranks, *recv_at = counts + 3 * ranks;
  int send_bytes = 0, recv_bytes = 0;
  for (int peer = 0; peer < ranks; ++peer) {
    counts[peer] = (int)size_of(bytes, rank, peer, call);
    recv_counts[peer] = (int)size_of(bytes, peer, rank, call);
    send_at[peer] = send_bytes;
    recv_at[peer] = recv_bytes;
    send_bytes += counts[peer];
    recv_bytes += recv_counts[peer];
  }
  unsigned char* send = (unsigned char*)allocate(send_bytes);
  unsigned char* recv = (unsigned char*)allocate(recv_bytes);
  for (int to = 0; to < ranks; ++to) {
    for (int i = 0; i < counts[to]; ++i) send[send_at[to] + i] = pattern(rank, to, i, call);
  }
  expect(MPI_Alltoallv(send, counts, send_at, MPI_BYTE, recv, recv_counts, recv_at, MPI_BYTE,
                       comm) == MPI_SUCCESS,
         "MPI_Alltoallv failed");
  for (int from = 0; from < ranks; ++from) {
    for (int i = 0; i < recv_counts[from]; ++i) {
      expect(recv[recv_at[from] + i] == pattern(from, rank, i, call), "received bytes");
    }
  }
  free(recv);
  free(send);
  free(counts);
}

static void* drive(void* argument) {
  const Worker* worker = (const Worker*)argument;
  for (long i = 0; i < worker->calls; ++i) {
    expect(exchange_bytes(worker->comm, worker->bytes, worker->salt + (unsigned)i) == MPI_SUCCESS,
           "MPI_Alltoall failed");
  }
  for (long i = 0; i < worker->calls; ++i) {
    exchange_blocks(worker->comm, worker->bytes, worker->salt + (unsigned)i);
  }
  return NULL;
}

int main(int argc, char** argv) {
  int provided = 0, rank = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc != 4) die("usage: threads THREADS CALLS BYTES");
  expect(provided == MPI_THREAD_MULTIPLE, "the library does not take calls from several threads");
  const int threads = atoi(argv[1]);
  Worker* workers = (Worker*)allocate(threads * (long)sizeof(Worker));
  for (int i = 0; i < threads; ++i) {
    workers[i].calls = atol(argv[2]);
    workers[i].bytes = atol(argv[3]);
    workers[i].salt = 1000u * (unsigned)(i + 1);
    MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].comm);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int i = 0; i < threads; ++i) pthread_create(&workers[i].thread, NULL, drive, &workers[i]);
  for (int i = 0; i < threads; ++i) pthread_join(workers[i].thread, NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("SECONDS %.3f\n", MPI_Wtime() - begin);
  for (int i = 0; i < threads; ++i) MPI_Comm_free(&workers[i].comm);
  free(workers);
  MPI_Finalize();
  if (rank == 0) puts("CORRECT");
  return 0;
}
