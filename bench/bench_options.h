// The command line of the benchmark program.
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMaxSizes = 64, kMaxSteps = 1024 };

// The nonblocking ones are waited for at once.
enum collective {
  kAlltoall,
  kAlltoallv,
  kAlltoallw,
  kIalltoall,
  kIalltoallv,
  kIalltoallw,
  kCollectiveCount
};

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
  enum collective collective;
  const char* matrix;  // file of bytes per pair; NULL: the size to everybody
  long steps;          // a call is so many exchanges, each with a matrix of its own
  double idle_s;       // before each timed call
  const char* late;    // HOST=S,HOST=S: ranks of these hosts come so late to every call
  const char* meet;    // file of a struct meeting; NULL: this job is alone
  long cold_ranks;     // of all jobs, which start their only call together; 0: not cold
  long jobs;
  bool by_clock;  // all ranks of a call start at one time, instead of each after a barrier
};

static inline void usage(void) {
  fprintf(
      stderr,
      "usage: alltoall_bench --sizes BYTES[,BYTES...] [--warmup N] [--min-calls N]\n"
      "         [--max-calls N] [--min-seconds S] [--max-seconds S] [--seed N] [--output FILE]\n"
      "         [--collective [i]alltoall|[i]alltoallv|[i]alltoallw] [--matrix FILE]\n"
      "         [--steps N]\n"
      "         [--idle S] [--late HOST=S[,HOST=S...]]\n"
      "         [--meet FILE [--jobs N] [--cold RANKS] [--start barrier|clock]]\n"
      "Per size: N warm-up calls, then timed calls until both minima are reached or one more\n"
      "call would pass a maximum. --output: where rank 0 writes (default: standard output).\n"
      "--matrix, for v and w: 64-bit integers in the machine's order, for each size ranks x "
      "ranks,\n"
      "a row per sender: bytes. The sizes are then names.\n"
      "--steps N: a call is N exchanges one after the other, a matrix of the file for each.\n"
      "--idle: seconds before each timed call. --late: the ranks of a host come so late to every\n"
      "call. --meet: a file of zeroes that all ranks of all N jobs map; their timed calls "
      "overlap.\n"
      "--cold: so many ranks of all jobs make one call, which no other call of MPI precedes.\n"
      "--start clock: all ranks of the only job begin a call at one time, after the barrier.\n");
}

static inline bool parse_long(const char* text, long low, long* value) {
  char* end = NULL;
  errno = 0;
  *value = strtol(text, &end, 10);
  return errno == 0 && end != text && *end == '\0' && *value >= low;
}

static inline bool parse_seconds(const char* text, double* value) {
  char* end = NULL;
  errno = 0;
  *value = strtod(text, &end);
  return errno == 0 && end != text && *end == '\0' && *value >= 0;
}

static inline bool parse_sizes(const char* text, struct options* options) {
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

static inline const char* collective_name(enum collective collective) {
  static const char* const kNames[kCollectiveCount] = {"alltoall",  "alltoallv",  "alltoallw",
                                                       "ialltoall", "ialltoallv", "ialltoallw"};
  return kNames[collective];
}

static inline bool takes_counts(enum collective collective) {
  return collective != kAlltoall && collective != kIalltoall;
}

static inline bool parse_collective(const char* text, enum collective* collective) {
  for (int i = 0; i < kCollectiveCount; ++i) {
    if (strcmp(text, collective_name((enum collective)i)) != 0) continue;
    *collective = (enum collective)i;
    return true;
  }
  return false;
}

// How late this host's ranks come; negative: the text cannot be read.
static inline double lateness(const char* text, const char* host) {
  double found = 0;
  while (text && *text) {
    const char* equals = strchr(text, '=');
    if (!equals) return -1;
    char* end = NULL;
    const double seconds = strtod(equals + 1, &end);
    if (end == equals + 1 || seconds < 0 || (*end != ',' && *end != '\0')) return -1;
    const size_t length = (size_t)(equals - text);
    if (strlen(host) == length && strncmp(text, host, length) == 0) found = seconds;
    text = *end == ',' ? end + 1 : end;
  }
  return found;
}

static inline bool parse_options(int argc, char** argv, struct options* options) {
  *options = (struct options){.warmup = 1,
                              .min_calls = 3,
                              .max_calls = 1000,
                              .min_seconds = 0,
                              .max_seconds = 60,
                              .seed = 1,
                              .output = NULL,
                              .collective = kAlltoall,
                              .matrix = NULL,
                              .steps = 1,
                              .idle_s = 0,
                              .late = NULL,
                              .meet = NULL,
                              .cold_ranks = 0,
                              .jobs = 1,
                              .by_clock = false};
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
    } else if (strcmp(name, "--collective") == 0) {
      good = parse_collective(value, &options->collective);
    } else if (strcmp(name, "--matrix") == 0) {
      good = true;
      options->matrix = value;
    } else if (strcmp(name, "--steps") == 0) {
      good = parse_long(value, 1, &options->steps) && options->steps <= kMaxSteps;
    } else if (strcmp(name, "--idle") == 0) {
      good = parse_seconds(value, &options->idle_s);
    } else if (strcmp(name, "--late") == 0) {
      good = lateness(value, "") >= 0;
      options->late = value;
    } else if (strcmp(name, "--meet") == 0) {
      good = true;
      options->meet = value;
    } else if (strcmp(name, "--jobs") == 0) {
      good = parse_long(value, 1, &options->jobs);
    } else if (strcmp(name, "--cold") == 0) {
      good = parse_long(value, 1, &options->cold_ranks);
    } else if (strcmp(name, "--start") == 0) {
      options->by_clock = strcmp(value, "clock") == 0;
      good = options->by_clock || strcmp(value, "barrier") == 0;
    }
    if (!good) {
      fprintf(stderr, "alltoall_bench: bad option or value: %s %s\n", name, value);
      return false;
    }
  }
  if (options->matrix && !takes_counts(options->collective)) {
    fprintf(stderr, "alltoall_bench: --matrix needs a --collective with counts (alltoallv)\n");
    return false;
  }
  if (options->steps > 1 && (!options->matrix || options->meet)) {
    fprintf(stderr, "alltoall_bench: --steps needs --matrix, and no --meet\n");
    return false;
  }
  if (!options->meet && (options->jobs > 1 || options->cold_ranks > 0 || options->by_clock)) {
    fprintf(stderr, "alltoall_bench: --jobs, --cold and --start clock need --meet\n");
    return false;
  }
  if (options->by_clock && (options->jobs > 1 || options->cold_ranks > 0)) {
    fprintf(stderr, "alltoall_bench: --start clock is for one job that is not cold\n");
    return false;
  }
  if (options->cold_ranks > 0 && (options->size_count != 1 || options->warmup != 0)) {
    fprintf(stderr, "alltoall_bench: --cold is one call: one size and --warmup 0\n");
    return false;
  }
  return argc % 2 == 1 && options->size_count > 0;
}
