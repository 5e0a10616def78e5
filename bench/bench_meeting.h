// Where ranks meet without MPI: a file that all of them map, because all hosts of a lab are one
// machine with one clock. The ranks of a cold call start from here, before any connection exists;
// several jobs agree here when the timed calls of a size begin and end; and ranks whose barrier
// would leave them apart, because links are long, start every call from here.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "bench_options.h"

// Begins as zeroes; whoever launches the jobs makes the file.
struct meeting {
  _Atomic uint32_t arrived;            // ranks of all jobs that are ready for their cold call
  _Atomic uint64_t start_ns;           // when it begins; 0: not all have arrived
  _Atomic uint32_t ready[kMaxSizes];   // jobs that are ready for the timed calls of a size
  _Atomic uint32_t enough[kMaxSizes];  // jobs that have as many of them as they need
  _Atomic uint64_t come;               // ranks of the only job, over all calls so far
  _Atomic uint64_t set_out;            // calls whose start is known
  _Atomic uint64_t due_ns[2];          // the start of calls with odd and even numbers
};

// The last rank that arrives gives the others so long to fall asleep.
enum { kStartInNs = 50000000, kPollNs = 1000000, kNsPerS = 1000000000 };

static inline uint64_t monotonic_ns(void) {
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (uint64_t)ts.tv_sec * kNsPerS + (uint64_t)ts.tv_nsec;
}

static inline void sleep_until(uint64_t ns) {
  const struct timespec until = {(time_t)(ns / kNsPerS), (long)(ns % kNsPerS)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
  }
}

static inline void sleep_seconds(double seconds) {
  if (seconds > 0) sleep_until(monotonic_ns() + (uint64_t)(seconds * 1e9));
}

// NULL: the file cannot be mapped; said already.
static inline struct meeting* open_meeting(const char* path) {
  void* memory = MAP_FAILED;
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file >= 0 && lseek(file, 0, SEEK_END) >= (off_t)sizeof(struct meeting)) {
    memory = mmap(NULL, sizeof(struct meeting), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  if (file >= 0) close(file);
  if (memory != MAP_FAILED) return memory;
  fprintf(stderr, "alltoall_bench: --meet %s: expected a file of %zu bytes: %s\n", path,
          sizeof(struct meeting), strerror(errno));
  return NULL;
}

// Returns at the same time on all `ranks` of all jobs; that time, in seconds.
static inline double start_cold(struct meeting* meeting, long ranks) {
  if (atomic_fetch_add(&meeting->arrived, 1) + 1 == (uint32_t)ranks) {
    atomic_store(&meeting->start_ns, monotonic_ns() + kStartInNs);
  }
  uint64_t start = 0;
  while ((start = atomic_load(&meeting->start_ns)) == 0) sleep_until(monotonic_ns() + kPollNs);
  sleep_until(start);
  return 1e-9 * (double)start;
}

// As `start_cold`, for call number `call`, from 1 on, of the only job.
static inline double start_call(struct meeting* meeting, uint64_t call, uint64_t ranks) {
  // Nobody reads the start of the call before the last: all have come to the last one since.
  if (atomic_fetch_add(&meeting->come, 1) + 1 == call * ranks) {
    atomic_store(&meeting->due_ns[call % 2], monotonic_ns() + kStartInNs);
    atomic_store(&meeting->set_out, call);
  }
  while (atomic_load(&meeting->set_out) < call) sleep_until(monotonic_ns() + kPollNs);
  const uint64_t start = atomic_load(&meeting->due_ns[call % 2]);
  sleep_until(start);
  return 1e-9 * (double)start;
}

// For rank 0 of a job: comes back when every job is there.
static inline void await_jobs(_Atomic uint32_t* count, long jobs) {
  atomic_fetch_add(count, 1);
  while (atomic_load(count) < (uint32_t)jobs) sleep_until(monotonic_ns() + kPollNs);
}
