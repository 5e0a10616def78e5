// The benchmark program of `allemande bench`: times MPI_Alltoall and checks every byte of every
// call. Plain MPI, built once with each library's mpicc, so that what is preloaded or configured
// around it is the only difference between candidates.
//
// One call: fill the send buffer, barrier, t0, MPI_Alltoall, t1, check. Only the exchange is inside
// t0..t1; its time is the largest over the ranks (each rank's own clock, started by the barrier).
// Rank 0 writes JSON lines: one `start`, one `call` per exchange, one `size` with the counters of
// all calls of a size, one `end`. A file without `end` is a run that did not finish.
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench_counters.h"
#include "bench_pattern.h"

enum { kMaxSizes = 64, kGuardBytes = 64, kGuardValue = 0xA5 };

struct options {
  long sizes[kMaxSizes];
  int size_count;
  long warmup;
  long min_calls;
  long max_calls;
  double min_seconds;
  double max_seconds;
  uint64_t seed;
  const char* output;
};

struct world {
  MPI_Comm comm;
  int rank;
  int ranks;
  bool counts_host;  // the one rank of its network namespace that reports the host's counters
  FILE* out;         // rank 0 only
};

struct buffers {
  unsigned char* send;
  unsigned char* receive_base;  // guard, data, guard
};

// What one call gave, the same on every rank.
struct call_result {
  double seconds;
  uint64_t wrong_bytes;
};

static double now_seconds(void) {
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

static void usage(void) {
  fprintf(
      stderr,
      "usage: alltoall_bench --sizes BYTES[,BYTES...] [--warmup N] [--min-calls N]\n"
      "         [--max-calls N] [--min-seconds S] [--max-seconds S] [--seed N] [--output FILE]\n"
      "Per size: N warm-up calls, then timed calls until both minima are reached or one more\n"
      "call would pass a maximum. --output: where rank 0 writes (default: standard output).\n");
}

static bool parse_long(const char* text, long low, long* value) {
  char* end = NULL;
  errno = 0;
  *value = strtol(text, &end, 10);
  return errno == 0 && end != text && *end == '\0' && *value >= low;
}

static bool parse_seconds(const char* text, double* value) {
  char* end = NULL;
  errno = 0;
  *value = strtod(text, &end);
  return errno == 0 && end != text && *end == '\0' && *value >= 0;
}

static bool parse_sizes(const char* text, struct options* options) {
  char copy[1024];
  if (strlen(text) >= sizeof copy) return false;
  strcpy(copy, text);
  char* rest = NULL;
  for (char* item = strtok_r(copy, ",", &rest); item; item = strtok_r(NULL, ",", &rest)) {
    if (options->size_count == kMaxSizes) return false;
    long* slot = &options->sizes[options->size_count];
    if (!parse_long(item, 1, slot) || *slot > INT32_MAX) return false;
    options->size_count++;
  }
  return options->size_count > 0;
}

static bool parse_options(int argc, char** argv, struct options* options) {
  *options = (struct options){.warmup = 1,
                              .min_calls = 3,
                              .max_calls = 1000,
                              .min_seconds = 0,
                              .max_seconds = 60,
                              .seed = 1,
                              .output = NULL};
  for (int i = 1; i + 1 < argc; i += 2) {
    const char* name = argv[i];
    const char* value = argv[i + 1];
    long number = 0;
    bool good = false;
    if (strcmp(name, "--sizes") == 0) {
      good = parse_sizes(value, options);
    } else if (strcmp(name, "--warmup") == 0) {
      good = parse_long(value, 0, &options->warmup);
    } else if (strcmp(name, "--min-calls") == 0) {
      good = parse_long(value, 1, &options->min_calls);
    } else if (strcmp(name, "--max-calls") == 0) {
      good = parse_long(value, 1, &options->max_calls);
    } else if (strcmp(name, "--min-seconds") == 0) {
      good = parse_seconds(value, &options->min_seconds);
    } else if (strcmp(name, "--max-seconds") == 0) {
      good = parse_seconds(value, &options->max_seconds);
    } else if (strcmp(name, "--seed") == 0) {
      good = parse_long(value, 0, &number);
      options->seed = (uint64_t)number;
    } else if (strcmp(name, "--output") == 0) {
      good = true;
      options->output = value;
    }
    if (!good) {
      fprintf(stderr, "alltoall_bench: bad option or value: %s %s\n", name, value);
      return false;
    }
  }
  return argc % 2 == 1 && options->size_count > 0;
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

static uint64_t check(const struct world* world, const struct buffers* buffers, size_t size,
                      uint64_t call_key) {
  const unsigned char* data = buffers->receive_base + kGuardBytes;
  const size_t total = size * (size_t)world->ranks;
  uint64_t wrong = 0;
  for (int source = 0; source < world->ranks; ++source) {
    size_t first = 0;
    const uint64_t bad = pattern_check(data + (size_t)source * size, size,
                                       pattern_key(call_key, source, world->rank), &first);
    if (bad) {
      fprintf(stderr,
              "alltoall_bench: rank %d: %" PRIu64
              " of %zu bytes from rank %d are wrong, the first "
              "at offset %zu\n",
              world->rank, bad, size, source, first);
    }
    wrong += bad;
  }
  for (size_t i = 0; i < kGuardBytes; ++i) {
    wrong += buffers->receive_base[i] != kGuardValue;
    wrong += data[total + i] != kGuardValue;
  }
  return wrong;
}

static struct call_result run_call(const struct world* world, struct buffers* buffers, size_t size,
                                   uint64_t call_key, struct cpu_ticks* cpu) {
  for (int target = 0; target < world->ranks; ++target) {
    pattern_fill(buffers->send + (size_t)target * size, size,
                 pattern_key(call_key, world->rank, target));
  }
  struct cpu_ticks before = {0, 0};
  if (world->rank == 0) before = read_cpu_ticks();
  MPI_Barrier(world->comm);
  const double start = now_seconds();
  MPI_Alltoall(buffers->send, (int)size, MPI_BYTE, buffers->receive_base + kGuardBytes, (int)size,
               MPI_BYTE, world->comm);
  const double local_seconds = now_seconds() - start;
  if (world->rank == 0) {
    const struct cpu_ticks after = read_cpu_ticks();
    cpu->idle_s += after.idle_s - before.idle_s;
    cpu->total_s += after.total_s - before.total_s;
  }
  struct call_result result = {0, 0};
  uint64_t wrong = check(world, buffers, size, call_key);
  MPI_Allreduce(&local_seconds, &result.seconds, 1, MPI_DOUBLE, MPI_MAX, world->comm);
  MPI_Allreduce(&wrong, &result.wrong_bytes, 1, MPI_UINT64_T, MPI_SUM, world->comm);
  return result;
}

static void report_call(const struct world* world, long size, bool warmup,
                        struct call_result result) {
  if (!world->out) return;
  fprintf(world->out,
          "{\"type\": \"call\", \"size\": %ld, \"warmup\": %s, \"seconds\": %.9f, "
          "\"wrong_bytes\": %" PRIu64 "}\n",
          size, warmup ? "true" : "false", result.seconds, result.wrong_bytes);
  fflush(world->out);
}

// The ranks' counters added up; the softnet ones belong to the machine and come from rank 0 alone.
static void report_size(const struct world* world, long size, long calls,
                        const struct host_counters* before, struct cpu_ticks cpu) {
  MPI_Barrier(world->comm);
  struct host_counters local = read_host_counters();
  for (int i = 0; i < kCounterCount; ++i) local.value[i] -= before->value[i];
  for (int i = 0; i < kCounterCount; ++i) {
    const bool reports = counter_scope(i) == kScopeHost ? world->counts_host : world->rank == 0;
    if (!reports) local.value[i] = 0;
  }
  uint64_t sum[kCounterCount];
  MPI_Reduce(local.value, sum, kCounterCount, MPI_UINT64_T, MPI_SUM, 0, world->comm);
  if (!world->out) return;
  fprintf(world->out, "{\"type\": \"size\", \"size\": %ld, \"calls\": %ld", size, calls);
  for (int i = 0; i < kCounterCount; ++i) {
    fprintf(world->out, ", \"%s\": %" PRIu64, counter_name(i), sum[i]);
  }
  fprintf(world->out, ", \"cpu_idle_s\": %.3f, \"cpu_total_s\": %.3f}\n", cpu.idle_s, cpu.total_s);
  fflush(world->out);
}

static void run_size(const struct world* world, const struct options* options, int index,
                     struct buffers* buffers) {
  const long size = options->sizes[index];
  const size_t total = (size_t)size * (size_t)world->ranks;
  memset(buffers->receive_base, kGuardValue, total + 2 * kGuardBytes);
  struct cpu_ticks unused = {0, 0};
  uint64_t call = 0;
  const uint64_t size_key = pattern_key(options->seed, index, (int)size);
  // The counters take in the warm-up, the times do not.
  const struct host_counters before = read_host_counters();
  MPI_Barrier(world->comm);
  for (long i = 0; i < options->warmup; ++i) {
    report_call(
        world, size, true,
        run_call(world, buffers, (size_t)size, pattern_key(size_key, (int)call, 0), &unused));
    ++call;
  }
  struct cpu_ticks cpu = {0, 0};
  // Every rank sees the same reduced times, so all stop after the same call without being told.
  double elapsed = 0;
  long calls = 0;
  while (calls < options->max_calls) {
    const bool enough = calls >= options->min_calls && elapsed >= options->min_seconds;
    const double mean = calls ? elapsed / (double)calls : 0;
    if (enough || (calls > 0 && elapsed + mean > options->max_seconds)) break;
    const struct call_result result =
        run_call(world, buffers, (size_t)size, pattern_key(size_key, (int)call, 0), &cpu);
    report_call(world, size, false, result);
    elapsed += result.seconds;
    ++calls;
    ++call;
  }
  report_size(world, size, calls, &before, cpu);
}

static void allocate(const struct world* world, const struct options* options,
                     struct buffers* buffers) {
  size_t largest = 0;
  for (int i = 0; i < options->size_count; ++i) {
    if ((size_t)options->sizes[i] > largest) largest = (size_t)options->sizes[i];
  }
  const size_t total = largest * (size_t)world->ranks;
  buffers->send = calloc(total, 1);
  buffers->receive_base = calloc(total + 2 * kGuardBytes, 1);
  if (!buffers->send || !buffers->receive_base) {
    fprintf(stderr, "alltoall_bench: rank %d: no memory for 2 x %zu bytes; use smaller --sizes\n",
            world->rank, total);
    MPI_Abort(world->comm, 1);
  }
}

static void report_start(const struct world* world) {
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(version, &length);
  version[strcspn(version, "\n")] = '\0';
  for (char* c = version; *c; ++c) {
    if (*c == '"' || *c == '\\' || (unsigned char)*c < ' ') *c = ' ';
  }
  if (!world->out) return;
  fprintf(world->out, "{\"type\": \"start\", \"ranks\": %d, \"mpi\": \"%s\"}\n", world->ranks,
          version);
  fflush(world->out);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  struct world world = {.comm = MPI_COMM_WORLD, .out = NULL};
  MPI_Comm_rank(world.comm, &world.rank);
  MPI_Comm_size(world.comm, &world.ranks);

  struct options options;
  if (!parse_options(argc, argv, &options)) {
    if (world.rank == 0) usage();
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
  world.counts_host = first_of_namespace(&world);
  report_start(&world);

  struct buffers buffers;
  allocate(&world, &options, &buffers);
  for (int i = 0; i < options.size_count; ++i) run_size(&world, &options, i, &buffers);
  free(buffers.send);
  free(buffers.receive_base);

  MPI_Finalize();
  if (world.out) {
    fprintf(world.out, "{\"type\": \"end\"}\n");
    if (fclose(world.out) != 0) return 1;
  }
  return 0;
}
