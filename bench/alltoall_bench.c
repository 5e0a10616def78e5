// The benchmark program of `allemande bench`: times MPI_Alltoall, MPI_Alltoallv, MPI_Alltoallw or a
// nonblocking form up to its MPI_Wait, and checks every byte of every call. Plain MPI, built once
// with each library's mpicc, so that what is preloaded or configured around it is the only
// difference between candidates.
//
// One call: fill the send buffer, barrier, t0, the collective, t1, check. Only the exchange is
// inside t0..t1; its time is the largest over the ranks (each rank's own clock, started by the
// barrier). With `--start clock` they all start at one time after it (bench_meeting.h): a barrier
// over long links leaves ranks as far apart as a message takes. A cold call has no barrier, which
// would open connections, and starts by the clock as well. Rank 0 writes JSON lines: one `start`,
// one `call` per exchange, one `size` with the counters of all calls of a size, one `end`. A file
// without `end` is a run that did not finish.
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "bench_counters.h"
#include "bench_exchange.h"
#include "bench_meeting.h"
#include "bench_options.h"
#include "bench_pattern.h"

enum { kHostBytes = 64, kCombinedBytes = 256, kLargerBytes = 300 };

struct world {
  MPI_Comm comm;
  int rank;
  int ranks;
  bool counts_host;  // the one rank of its network namespace that reports the host's counters
  FILE* out;         // rank 0 only
  double late_s;     // this rank comes so late to every call
  struct meeting* meeting;  // NULL: alone
  uint64_t* started;        // calls, or steps, that began by the clock
};

// What the timed calls have taken of processors.
struct effort {
  struct cpu_ticks machine;  // rank 0 only
  double process_s;          // user and system time of this rank's process
};

// What one call gave, the same on every rank but for the clock.
struct call_result {
  double begin_s;  // on this rank's clock, CLOCK_MONOTONIC; rank 0's is reported
  double seconds;
  uint64_t wrong_bytes;
  double step_seconds[kMaxSteps];  // where there are several steps; `seconds` is their sum
};

static double now_seconds(void) { return 1e-9 * (double)monotonic_ns(); }

static double process_seconds(void) {
  struct rusage used;
  if (getrusage(RUSAGE_SELF, &used) != 0) return 0;
  return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

// Several ranks in one network namespace would report the same counters several times.
static bool first_of_namespace(const struct world* world) {
  char link[128] = "";
  char host[128] = "";
  ssize_t length = readlink("/proc/self/ns/net", link, sizeof link - 1);
  link[length > 0 ? length : 0] = '\0';
  gethostname(host, sizeof host - 1);
  uint64_t mine = 0xcbf29ce484222325u;  // FNV-1a over both names
  for (const char* c = link; *c; ++c) mine = (mine ^ (unsigned char)*c) * 0x100000001b3u;
  for (const char* c = host; *c; ++c) mine = (mine ^ (unsigned char)*c) * 0x100000001b3u;
  uint64_t* all = malloc((size_t)world->ranks * sizeof *all);
  if (!all) MPI_Abort(world->comm, 1);
  MPI_Allgather(&mine, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, world->comm);
  bool first = true;
  for (int r = 0; r < world->rank; ++r) first = first && all[r] != mine;
  free(all);
  return first;
}

// All ranks are there, unless the call is cold; when it begins.
static double begin_call(const struct world* world, const struct options* options) {
  if (options->cold_ranks > 0) return start_cold(world->meeting, options->cold_ranks);
  if (!options->by_clock) return now_seconds();
  return start_call(world->meeting, ++*world->started, (uint64_t)world->ranks);
}

static struct call_result run_step(const struct world* world, const struct options* options,
                                   const struct traffic* traffic, struct buffers* buffers,
                                   uint64_t call_key, struct effort* effort) {
  fill(traffic, buffers, world->rank, world->ranks, call_key);
  struct cpu_ticks before = {0, 0};
  if (world->rank == 0) before = read_cpu_ticks();
  const bool cold = options->cold_ranks > 0;
  if (!cold) MPI_Barrier(world->comm);
  const double start = begin_call(world, options);
  const double process_before = process_seconds();
  sleep_seconds(world->late_s);
  call_collective(options->collective, traffic, buffers, world->comm);
  const double local_seconds = now_seconds() - start;
  effort->process_s += process_seconds() - process_before;
  if (world->rank == 0) {
    const struct cpu_ticks after = read_cpu_ticks();
    effort->machine.idle_s += after.idle_s - before.idle_s;
    effort->machine.total_s += after.total_s - before.total_s;
  }
  struct call_result result = {.begin_s = start};
  uint64_t wrong = check(traffic, buffers, world->rank, world->ranks, call_key);
  MPI_Allreduce(&local_seconds, &result.seconds, 1, MPI_DOUBLE, MPI_MAX, world->comm);
  MPI_Allreduce(&wrong, &result.wrong_bytes, 1, MPI_UINT64_T, MPI_SUM, world->comm);
  return result;
}

// All steps of a call, each with a barrier before it.
static struct call_result run_call(const struct world* world, const struct options* options,
                                   int index, struct traffic* traffic, struct buffers* buffers,
                                   uint64_t call_key, struct effort* effort) {
  if (options->steps == 1) return run_step(world, options, traffic, buffers, call_key, effort);
  struct call_result all = {.begin_s = 0};
  for (int step = 0; step < options->steps; ++step) {
    set_traffic(traffic, options, index, step, world->rank, world->ranks);
    const uint64_t key = pattern_key(call_key, step, 1);
    const struct call_result one = run_step(world, options, traffic, buffers, key, effort);
    if (step == 0) all.begin_s = one.begin_s;
    all.step_seconds[step] = one.seconds;
    all.seconds += one.seconds;
    all.wrong_bytes += one.wrong_bytes;
  }
  return all;
}

static void report_call(const struct world* world, const struct options* options, int index,
                        bool warmup, const struct call_result* result) {
  if (!world->out) return;
  fprintf(world->out,
          "{\"type\": \"call\", \"size\": %ld, \"warmup\": %s, \"begin_s\": %.6f, "
          "\"seconds\": %.9f, \"wrong_bytes\": %" PRIu64,
          options->sizes[index], warmup ? "true" : "false", result->begin_s, result->seconds,
          result->wrong_bytes);
  for (int step = 0; options->steps > 1 && step < options->steps; ++step) {
    fprintf(world->out, "%s%.9f", step > 0 ? ", " : ", \"step_s\": [", result->step_seconds[step]);
  }
  fprintf(world->out, "%s}\n", options->steps > 1 ? "]" : "");
  fflush(world->out);
}

// The ranks' counters added up; the softnet ones belong to the machine and come from rank 0 alone.
static void add_up(const struct world* world, const struct host_counters* before,
                   const struct host_counters* after, uint64_t* sum) {
  struct host_counters local = *after;
  for (int i = 0; i < kCounterCount; ++i) {
    const bool reports = counter_scope(i) == kScopeHost ? world->counts_host : world->rank == 0;
    local.value[i] = reports ? after->value[i] - before->value[i] : 0;
  }
  MPI_Reduce(local.value, sum, kCounterCount, MPI_UINT64_T, MPI_SUM, 0, world->comm);
}

// `before`: all calls; `between`: the warm-up and the timed ones.
static void report_size(const struct world* world, long size, long calls,
                        const struct host_counters* before, const struct host_counters* between,
                        const struct effort* effort) {
  MPI_Barrier(world->comm);
  const struct host_counters after = read_host_counters();
  uint64_t sum[kCounterCount], timed[kCounterCount];
  add_up(world, before, &after, sum);
  add_up(world, between, &after, timed);
  double process_s = 0;
  MPI_Reduce(&effort->process_s, &process_s, 1, MPI_DOUBLE, MPI_SUM, 0, world->comm);
  if (!world->out) return;
  fprintf(world->out, "{\"type\": \"size\", \"size\": %ld, \"calls\": %ld", size, calls);
  for (int i = 0; i < kCounterCount; ++i) {
    fprintf(world->out, ", \"%s\": %" PRIu64, counter_name(i), sum[i]);
  }
  fprintf(world->out,
          ", \"timed_tcp_timeouts\": %" PRIu64 ", \"timed_tcp_retransmitted\": %" PRIu64
          ", \"process_s\": %.6f, \"cpu_idle_s\": %.3f, \"cpu_total_s\": %.3f}\n",
          timed[kTcpTimeouts], timed[kTcpRetransmitted], process_s, effort->machine.idle_s,
          effort->machine.total_s);
  fflush(world->out);
}

// The timed calls of a size begin at the same time in all jobs.
static void begin_together(const struct world* world, const struct options* options, int index) {
  if (options->jobs == 1 || options->cold_ranks > 0) return;
  MPI_Barrier(world->comm);
  if (world->rank == 0) await_jobs(&world->meeting->ready[index], options->jobs);
  MPI_Barrier(world->comm);
}

// Whether every job has the calls it needs; until then all go on, so that nobody's are alone.
static bool all_have_enough(const struct world* world, const struct options* options, int index) {
  if (options->jobs == 1 || options->cold_ranks > 0) return true;
  int all = 0;
  if (world->rank == 0) {
    all = atomic_load(&world->meeting->enough[index]) >= (uint32_t)options->jobs;
  }
  MPI_Bcast(&all, 1, MPI_INT, 0, world->comm);
  return all != 0;
}

// Every rank sees the same reduced times, so all stop after the same call without being told.
static bool has_enough(const struct options* options, long calls, double elapsed) {
  if (calls >= options->max_calls) return true;
  if (calls >= options->min_calls && elapsed >= options->min_seconds) return true;
  return calls > 0 && elapsed + elapsed / (double)calls > options->max_seconds;
}

static void run_size(const struct world* world, const struct options* options, int index,
                     struct traffic* traffic, struct buffers* buffers) {
  const long size = options->sizes[index];
  set_traffic(traffic, options, index, 0, world->rank, world->ranks);
  struct effort unused = {{0, 0}, 0};
  uint64_t call = 0;
  const uint64_t size_key = pattern_key(options->seed, index, (int)size);
  // Most counters take in the warm-up, the times do not.
  const struct host_counters before = read_host_counters();
  if (options->cold_ranks == 0) MPI_Barrier(world->comm);
  for (long i = 0; i < options->warmup; ++i) {
    const uint64_t key = pattern_key(size_key, (int)call, 0);
    const struct call_result result =
        run_call(world, options, index, traffic, buffers, key, &unused);
    report_call(world, options, index, true, &result);
    ++call;
  }
  begin_together(world, options, index);
  const struct host_counters between = read_host_counters();
  struct effort effort = {{0, 0}, 0};
  double elapsed = 0;  // in timed calls, with the time in which nobody called before them
  long calls = 0;
  bool enough = false;
  for (;;) {
    if (!enough && has_enough(options, calls, elapsed)) {
      enough = true;
      if (world->rank == 0 && world->meeting) atomic_fetch_add(&world->meeting->enough[index], 1);
    }
    if (enough && all_have_enough(world, options, index)) break;
    sleep_seconds(options->idle_s);
    const uint64_t key = pattern_key(size_key, (int)call, 0);
    const struct effort effort_before = effort;
    const struct call_result result =
        run_call(world, options, index, traffic, buffers, key, &effort);
    ++call;
    // The other jobs may have ended during this one.
    const bool alone = enough && all_have_enough(world, options, index);
    report_call(world, options, index, alone, &result);
    if (alone) {
      effort = effort_before;
      break;
    }
    elapsed += result.seconds + options->idle_s;
    ++calls;
  }
  if (options->cold_ranks > 0) {
    // Not before: this is MPI.
    struct world counting = *world;
    counting.counts_host = first_of_namespace(world);
    report_size(&counting, size, calls, &before, &between, &effort);
    return;
  }
  report_size(world, size, calls, &before, &between, &effort);
}

// For the largest of the sizes.
static struct buffers allocate(const struct world* world, const struct options* options,
                               struct traffic* traffic) {
  size_t send = 0, receive = 0;
  for (int i = 0; i < options->size_count; ++i) {
    for (int step = 0; step < options->steps; ++step) {
      set_traffic(traffic, options, i, step, world->rank, world->ranks);
      if (traffic->send > send) send = traffic->send;
      if (traffic->receive > receive) receive = traffic->receive;
    }
  }
  return (struct buffers){need(send, 1), need(receive + 2 * kGuardBytes, 1)};
}

static void report_start(const struct world* world) {
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(version, &length);
  version[strcspn(version, "\n")] = '\0';
  for (char* c = version; *c; ++c) {
    if (*c == '"' || *c == '\\' || (unsigned char)*c < ' ') *c = ' ';
  }
  char name[kHostBytes] = "";
  gethostname(name, sizeof name - 1);
  char* names = world->out ? need((size_t)world->ranks, sizeof name) : NULL;
  MPI_Gather(name, sizeof name, MPI_CHAR, names, sizeof name, MPI_CHAR, 0, world->comm);
  if (!world->out) return;
  fprintf(world->out, "{\"type\": \"start\", \"ranks\": %d, \"mpi\": \"%s\", \"hosts\": [",
          world->ranks, version);
  for (int rank = 0; rank < world->ranks; ++rank) {
    fprintf(world->out, "%s\"%s\"", rank > 0 ? ", " : "", names + (size_t)rank * sizeof name);
  }
  fprintf(world->out, "]}\n");
  fflush(world->out);
  free(names);
}

// allemande leaves small blocks to the library until a job has made enough calls: so that what is
// measured is what it settles on, a larger block comes before them.
static void begin_with_larger_block(const struct world* world) {
  char* blocks = need(2 * (size_t)world->ranks, kLargerBytes);
  memset(blocks, 0, 2 * (size_t)world->ranks * kLargerBytes);
  MPI_Alltoall(blocks, kLargerBytes, MPI_CHAR, blocks + (size_t)world->ranks * kLargerBytes,
               kLargerBytes, MPI_CHAR, world->comm);
  free(blocks);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  uint64_t started = 0;
  struct world world = {.comm = MPI_COMM_WORLD, .started = &started};
  MPI_Comm_rank(world.comm, &world.rank);
  MPI_Comm_size(world.comm, &world.ranks);

  struct options options;
  const bool understood = parse_options(argc, argv, &options);
  if (!understood && world.rank == 0) usage();
  if (!understood || !check_matrix(&options, world.rank, world.ranks)) {
    MPI_Finalize();
    return 2;
  }
  if (world.rank == 0) {
    world.out = options.output ? fopen(options.output, "w") : stdout;
    if (!world.out) {
      fprintf(stderr, "alltoall_bench: cannot write %s: %s\n", options.output, strerror(errno));
      MPI_Abort(world.comm, 1);
    }
  }
  char host[kHostBytes] = "";
  gethostname(host, sizeof host - 1);
  world.late_s = lateness(options.late, host);
  if (options.meet && !(world.meeting = open_meeting(options.meet))) MPI_Abort(world.comm, 1);
  const bool cold = options.cold_ranks > 0;
  if (!cold) {
    world.counts_host = first_of_namespace(&world);
    report_start(&world);
    if (options.sizes[0] <= kCombinedBytes) begin_with_larger_block(&world);
  }

  struct traffic traffic = make_traffic(world.ranks);
  struct buffers buffers = allocate(&world, &options, &traffic);
  for (int i = 0; i < options.size_count; ++i) run_size(&world, &options, i, &traffic, &buffers);
  if (cold) report_start(&world);
  free_traffic(&traffic);
  free(buffers.send);
  free(buffers.receive_base);

  MPI_Finalize();
  if (world.out) {
    fprintf(world.out, "{\"type\": \"end\"}\n");
    if (fclose(world.out) != 0) return 1;
  }
  return 0;
}
