/* The C interface between processes on one machine: every byte, every error. One case per run. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "forked_ranks.h"

static double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* ---- bytes ---------------------------------------------------------------------------- */

static void equal_blocks(alm_exchange* exchange, size_t bytes, unsigned round, int in_place) {
  const uint32_t ranks = alm_exchange_ranks(exchange), self = alm_exchange_self(exchange);
  unsigned char *send = malloc(ranks * bytes + 1), *recv = malloc(ranks * bytes + 1);
  unsigned char* source = in_place ? recv : send;
  CHECK(send != NULL && recv != NULL);
  memset(recv, 0xEE, ranks * bytes + 1);
  for (uint32_t to = 0; to < ranks; ++to) {
    for (size_t at = 0; at < bytes; ++at) source[to * bytes + at] = pattern(self, to, at, round);
  }
  CHECK_OK(exchange, alm_exchange_alltoall(exchange, in_place ? ALM_IN_PLACE : send, recv, bytes));
  for (uint32_t from = 0; from < ranks; ++from) {
    for (size_t at = 0; at < bytes; ++at) {
      CHECK(recv[from * bytes + at] == pattern(from, self, at, round));
    }
  }
  CHECK(recv[ranks * bytes] == 0xEE);
  free(send);
  free(recv);
}

static void alltoall_body(struct rank* rank) {
  static const size_t sizes[] = {1, 7, 1000, 1448, 9001, 100000};
  alm_exchange* exchange = rank_exchange(rank);
  CHECK(alm_exchange_ranks(exchange) == rank->ranks && alm_exchange_self(exchange) == rank->self);
  for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    equal_blocks(exchange, sizes[i], i, 0);
    equal_blocks(exchange, sizes[i], i + 50, 1);
  }
  CHECK_OK(exchange, alm_exchange_alltoall(exchange, NULL, NULL, 0));
  CHECK(strcmp(alm_error_message(exchange), "") == 0);
  alm_exchange_destroy(exchange);
}

/* Rank a sends (a + 2b) % 5 * 700 bytes to rank b: some nothing, some several packets. */
static size_t length(uint32_t from, uint32_t to) { return (from + 2 * to) % 5 * 700; }
static size_t same_both_ways(uint32_t from, uint32_t to) { return (from + to) % 4 * 901; }

static void blocks_of_any_size(alm_exchange* exchange, size_t (*size)(uint32_t, uint32_t),
                               int in_place) {
  const uint32_t ranks = alm_exchange_ranks(exchange), self = alm_exchange_self(exchange);
  size_t out[16], out_at[16], in[16], in_at[16], out_end = 3, in_end = 5;
  for (uint32_t rank = ranks; rank-- > 0;) { /* descending displacements, with gaps */
    out[rank] = size(self, rank);
    in[rank] = size(rank, self);
    out_at[rank] = out_end;
    in_at[rank] = in_end;
    out_end += out[rank] + 3;
    in_end += in[rank] + 1;
  }
  unsigned char *send = malloc(out_end), *recv = malloc(in_end), *source = in_place ? recv : send;
  const size_t* source_at = in_place ? in_at : out_at;
  CHECK(send != NULL && recv != NULL);
  memset(recv, 0xEE, in_end);
  for (uint32_t to = 0; to < ranks; ++to) {
    for (size_t at = 0; at < out[to]; ++at) source[source_at[to] + at] = pattern(self, to, at, 9);
  }
  if (in_place) {
    CHECK_OK(exchange, alm_exchange_alltoallv(exchange, ALM_IN_PLACE, NULL, NULL, recv, in, in_at));
  } else {
    CHECK_OK(exchange, alm_exchange_alltoallv(exchange, send, out, out_at, recv, in, in_at));
  }
  for (uint32_t from = 0; from < ranks; ++from) {
    for (size_t at = 0; at < in[from]; ++at) {
      CHECK(recv[in_at[from] + at] == pattern(from, self, at, 9));
    }
    CHECK(recv[in_at[from] + in[from]] == 0xEE);
  }
  free(send);
  free(recv);
}

static void alltoallv_body(struct rank* rank) {
  alm_exchange* exchange = rank_exchange(rank);
  const size_t nothing[16] = {0}, anywhere[16] = {SIZE_MAX, SIZE_MAX, SIZE_MAX};
  blocks_of_any_size(exchange, length, 0);
  blocks_of_any_size(exchange, same_both_ways, 1);
  CHECK_OK(exchange,
           alm_exchange_alltoallv(exchange, NULL, nothing, anywhere, NULL, nothing, anywhere));
  blocks_of_any_size(exchange, length, 0);
  alm_exchange_destroy(exchange);
}

static void alone_body(struct rank* rank) {
  alm_exchange_config config = ALM_EXCHANGE_CONFIG_INIT;
  alm_exchange* exchange = NULL;
  (void)rank;
  config.ranks = 1;
  CHECK_OK(exchange, alm_exchange_create(&config, &exchange));
  equal_blocks(exchange, 1000, 1, 0);
  equal_blocks(exchange, 1000, 2, 1);
  alm_exchange_destroy(exchange);
}

/* ---- several at once ------------------------------------------------------------------ */

static void* exchange_often(void* exchange) {
  for (unsigned round = 0; round < 50; ++round) equal_blocks(exchange, 3000, round, 0);
  return NULL;
}

static void two_exchanges_body(struct rank* rank) {
  alm_exchange *first = rank_exchange(rank), *second = rank_exchange(rank);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, exchange_often, first) == 0);
  exchange_often(second);
  pthread_join(thread, NULL);
  alm_exchange_destroy(second);
  equal_blocks(first, 100, 1, 0);
  alm_exchange_destroy(first);
}

static void* exchange_once(void* exchange) {
  equal_blocks(exchange, 1000, 3, 0);
  return NULL;
}

static void busy_body(struct rank* rank) {
  int seen = 1, all[2];
  alm_exchange* exchange = rank_exchange(rank);
  if (rank->self == 0) {
    /* The other rank comes late, so that this one's thread is inside the call. */
    unsigned char send[2], recv[2];
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, exchange_once, exchange) == 0);
    usleep(300000);
    CHECK(alm_exchange_alltoall(exchange, send, recv, 1) == ALM_ERROR_BUSY);
    CHECK(rank_allgather(rank, &seen, sizeof seen, all) == 0);
    pthread_join(thread, NULL);
  } else {
    CHECK(rank_allgather(rank, &seen, sizeof seen, all) == 0);
    exchange_once(exchange);
  }
  alm_exchange_destroy(exchange);
}

/* ---- what can go wrong ---------------------------------------------------------------- */

static void refuses(const alm_exchange_config* config, int code, const char* text) {
  alm_exchange* exchange = NULL;
  CHECK(alm_exchange_create(config, &exchange) == code);
  CHECK_SAYS(exchange, text);
  alm_exchange_destroy(exchange);
}

static void arguments_body(struct rank* rank) {
  alm_exchange* exchange = NULL;
  alm_exchange_config config = rank_config(rank);
  unsigned char buffer[64];
  size_t in[2] = {8, 8}, at[2] = {0, 8}, overlapping[2] = {0, 4}, far[2] = {SIZE_MAX, 0};

  CHECK(alm_exchange_create(&config, NULL) == ALM_ERROR_ARGUMENT);
  CHECK(alm_exchange_create(NULL, &exchange) == ALM_ERROR_ARGUMENT);
  CHECK_SAYS(exchange, "config is NULL");
  alm_exchange_destroy(exchange);
  config.struct_size = 3;
  refuses(&config, ALM_ERROR_ARGUMENT, "ALM_EXCHANGE_CONFIG_INIT");
  config = rank_config(rank);
  config.ranks = 0;
  CHECK(alm_exchange_create(&config, &exchange) == ALM_ERROR_ARGUMENT);
  CHECK_SAYS(exchange, "ranks is 0, expected 1 to 65535");
  CHECK(alm_exchange_alltoall(exchange, buffer, buffer + 32, 8) == ALM_ERROR_ARGUMENT);
  CHECK_SAYS(exchange, "could not be made");
  alm_exchange_destroy(exchange);
  config = rank_config(rank);
  config.self = config.ranks;
  refuses(&config, ALM_ERROR_ARGUMENT, "self is 2, expected 0 to 1");
  config = rank_config(rank);
  config.allgather = NULL;
  refuses(&config, ALM_ERROR_ARGUMENT, "allgather is NULL");

  exchange = rank_exchange(rank);
  CHECK(alm_exchange_alltoall(NULL, buffer, buffer, 1) == ALM_ERROR_ARGUMENT);
  CHECK(alm_exchange_alltoall(exchange, NULL, buffer, 1) == ALM_ERROR_ARGUMENT);
  CHECK_SAYS(exchange, "send is NULL");
  CHECK(alm_exchange_alltoall(exchange, buffer, NULL, 1) == ALM_ERROR_ARGUMENT);
  CHECK_SAYS(exchange, "recv is NULL");
  CHECK(alm_exchange_alltoall(exchange, buffer, buffer + 4, 4) == ALM_ERROR_ARGUMENT);
  CHECK_SAYS(exchange, "send and recv overlap");
  CHECK(alm_exchange_alltoall(exchange, buffer, buffer + 32, SIZE_MAX) == ALM_ERROR_ARGUMENT);
  CHECK_SAYS(exchange, "ALM_BLOCK_BYTES_MAX");
  CHECK(alm_exchange_alltoallv(exchange, buffer, NULL, at, buffer + 32, in, at) ==
        ALM_ERROR_ARGUMENT);
  CHECK_SAYS(exchange, "send_bytes is NULL");
  CHECK(alm_exchange_alltoallv(exchange, buffer, in, at, buffer + 32, in, NULL) ==
        ALM_ERROR_ARGUMENT);
  CHECK_SAYS(exchange, "recv_displacements is NULL");
  CHECK(alm_exchange_alltoallv(exchange, NULL, in, at, buffer + 32, in, at) == ALM_ERROR_ARGUMENT);
  CHECK_SAYS(exchange, "send is NULL, but send_bytes[0] is 8");
  CHECK(alm_exchange_alltoallv(exchange, buffer, in, at, buffer + 32, in, overlapping) ==
        ALM_ERROR_ARGUMENT);
  CHECK_SAYS(exchange, "the block from rank 0 and the block from rank 1 overlap");
  CHECK(alm_exchange_alltoallv(exchange, buffer, in, at, buffer + 8, in, at) == ALM_ERROR_ARGUMENT);
  CHECK_SAYS(exchange, "overlap");
  CHECK(alm_exchange_alltoallv(exchange, buffer, in, far, buffer + 32, in, at) ==
        ALM_ERROR_ARGUMENT);
  CHECK_SAYS(exchange, "beyond the address space");
  /* Nothing has been sent: the exchange still works. What is only sent may overlap. */
  CHECK_OK(exchange,
           alm_exchange_alltoallv(exchange, buffer, in, overlapping, buffer + 32, in, at));
  equal_blocks(exchange, 100, 1, 0);
  alm_exchange_destroy(exchange);
  alm_exchange_destroy(NULL);
}

static void expect_create(struct rank* rank, const char* const* options, int code,
                          const char* text) {
  alm_exchange_config config = rank_config(rank);
  config.options = options;
  refuses(&config, code, text);
}

static void options_body(struct rank* rank) {
  static const char* const unknown[] = {"windw_packets=4", NULL};
  static const char* const bad[] = {"window_packets=many", NULL};
  static const char* const over_mpi[] = {"transport=mpi", NULL};
  static const char* const disabled[] = {"disable=on", NULL};
  static const char* const no_file[] = {"cluster=/nowhere/cluster.toml", NULL};
  const char* window[] = {rank->self == 0 ? "window_packets=4" : "window_packets=5", NULL};
  static const char* const good[] = {"window_packets=5", "hello_timeout_ms=20000", NULL};
  const char* only_one[] = {rank->self == 0 ? "window_packets=x" : "omega=0", NULL};
  expect_create(rank, unknown, ALM_ERROR_CONFIG, "windw_packets");
  expect_create(rank, bad, ALM_ERROR_CONFIG, "`many` is not valid; expected an integer");
  expect_create(rank, over_mpi, ALM_ERROR_CONFIG, "transport");
  expect_create(rank, disabled, ALM_ERROR_UNAVAILABLE, "switched off");
  expect_create(rank, no_file, ALM_ERROR_CONFIG, "/nowhere/cluster.toml: cannot be read");
  expect_create(rank, window, ALM_ERROR_CONFIG, "differ on rank 1");
  expect_create(rank, only_one, ALM_ERROR_CONFIG,
                rank->self == 0 ? "`x` is not valid" : "not valid on rank 0");
  setenv("ALLEMANDE_WINDOW_PACKETS", rank->self == 0 ? "7" : "8", 1); /* options come first */
  expect_create(rank, good, ALM_OK, "");
  setenv("ALLEMANDE_NONSENSE", "1", 1);
  expect_create(rank, good, ALM_ERROR_CONFIG, "ALLEMANDE_NONSENSE: unknown environment variable");
}

static void bootstrap_body(struct rank* rank) {
  alm_exchange_config config = rank_config(rank);
  for (int failing = 0; failing < 3; ++failing) {
    rank->silent_from = failing;
    rank->calls = 0;
    refuses(&config, ALM_ERROR_BOOTSTRAP, "allgather returned 17");
  }
  rank->silent_from = -1;
  config.allgather = rank_gathers_nothing;
  refuses(&config, ALM_ERROR_BOOTSTRAP, "of the allgather does not hold what rank");
  config = rank_config(rank);
  config.self = 1 - config.self; /* not the order of the allgather */
  refuses(&config, ALM_ERROR_BOOTSTRAP,
          "place 0 of the allgather holds the contribution of rank 1 of 2");
}

static void cluster_body(struct rank* rank) {
  static const char text[] =
      "format = 1\nname = \"two\"\n[[switch]]\nname = \"leaf\"\n"
      "[[host]]\nname = \"left,right\"\naddress = \"127.0.0.1,127.0.0.2\"\n"
      "[[link]]\nfrom = \"left,right\"\nto = \"leaf\"\nrate_mbit_s = 1000\n"
      "queue_down_packets = 64\n";
  char path[64];
  snprintf(path, sizeof path, "/tmp/allemande-capi-%d.toml", (int)getpid());
  FILE* file = fopen(path, "w");
  CHECK(file != NULL);
  fputs(text, file);
  fclose(file);
  alm_exchange* exchange = NULL;
  alm_exchange_config config = rank_config(rank);
  config.cluster_file = path;
  config.host = rank->self < 2 ? "left" : "right";
  CHECK_OK(exchange, alm_exchange_create(&config, &exchange));
  equal_blocks(exchange, 5000, 1, 0);
  equal_blocks(exchange, 50, 2, 0);
  alm_exchange_destroy(exchange);
  config.host = "elsewhere";
  refuses(&config, ALM_ERROR_UNAVAILABLE, "does not name host elsewhere");
  unlink(path);
}

static void sites_body(struct rank* rank) {
  const char* options[] = {"algorithm=multi-site", NULL};
  const uint32_t sites[] = {1, 3};
  char host[8];
  alm_exchange* exchange = NULL;
  alm_exchange_config config = rank_config(rank);
  snprintf(host, sizeof host, "h%u", rank->self);
  config.host = host;
  config.options = options;
  config.sites = sites;
  config.site_count = 2;
  CHECK_OK(exchange, alm_exchange_create(&config, &exchange));
  equal_blocks(exchange, 5000, 1, 0);
  equal_blocks(exchange, 5, 2, 0);
  alm_exchange_destroy(exchange);
  config.site_count = 1;
  refuses(&config, ALM_ERROR_ARGUMENT, "sites has 1 ranks at 1 sites, expected all 4");
  const uint32_t with_none[] = {4, 0};
  config.sites = with_none;
  config.site_count = 2;
  refuses(&config, ALM_ERROR_ARGUMENT, "config->sites[1] is 0, expected ranks at each site");
  /* A program that was built before there were sites. */
  config.struct_size = offsetof(alm_exchange_config, sites);
  config.options = NULL;
  CHECK_OK(exchange, alm_exchange_create(&config, &exchange));
  equal_blocks(exchange, 5000, 3, 0);
  alm_exchange_destroy(exchange);
}

static void mismatch_body(struct rank* rank) {
  alm_exchange* exchange = rank_exchange(rank);
  const size_t mine = rank->self == 1 ? 90000 : 80000;
  unsigned char *send = calloc(rank->ranks, mine), *recv = calloc(rank->ranks, mine);
  int code = alm_exchange_alltoall(exchange, send, recv, mine);
  if (code == ALM_OK) code = alm_exchange_alltoall(exchange, send, recv, mine);
  CHECK(code == ALM_ERROR_MISMATCH || code == ALM_ERROR_PEER_LOST);
  CHECK_SAYS(exchange, "alm_exchange_alltoall failed: ");
  CHECK(strstr(alm_error_message(exchange), "MPI") == NULL);
  CHECK(alm_exchange_alltoall(exchange, send, recv, mine) == code); /* for good */
  free(send);
  free(recv);
  alm_exchange_destroy(exchange);
}

static void mismatch_v_body(struct rank* rank) {
  alm_exchange* exchange = rank_exchange(rank);
  size_t out[16], in[16], at[16];
  unsigned char send[4096] = {0}, recv[4096] = {0};
  for (uint32_t r = 0; r < rank->ranks; ++r) out[r] = in[r] = 100, at[r] = 1000 * r;
  if (rank->self == 0) in[1] = 300;
  int code = ALM_OK;
  for (int call = 0; call < 2 && code == ALM_OK; ++call) {
    code = alm_exchange_alltoallv(exchange, send, out, at, recv, in, at);
  }
  CHECK(code == ALM_ERROR_MISMATCH || (code == ALM_ERROR_PEER_LOST && rank->self > 1));
  if (rank->self == 0) CHECK_SAYS(exchange, "rank 1 on ");
  alm_exchange_destroy(exchange);
}

static int silenced;
static void count_log(void* context, int level, const char* message) {
  (void)context;
  if (level == ALM_LOG_WARNING && strstr(message, "silent for")) ++silenced;
}

static void dead_peer_body(struct rank* rank) {
  static const char* const options[] = {"hello_timeout_ms=20000", "peer_warning_s=1",
                                        "peer_timeout_s=3", NULL};
  alm_exchange_config config = rank_config(rank);
  alm_exchange* exchange = NULL;
  config.options = options;
  config.log = count_log;
  CHECK_OK(exchange, alm_exchange_create(&config, &exchange));
  equal_blocks(exchange, 2000, 1, 0);
  if (rank->self == 1) kill(getpid(), SIGKILL);
  unsigned char *send = calloc(rank->ranks, 2000), *recv = calloc(rank->ranks, 2000);
  const double begin = now_s();
  CHECK(alm_exchange_alltoall(exchange, send, recv, 2000) == ALM_ERROR_PEER_LOST);
  CHECK(now_s() - begin < 30);
  CHECK_SAYS(exchange, "rank 1 on ");
  CHECK_SAYS(exchange, "is lost");
  CHECK(silenced == 1);
  CHECK(alm_exchange_alltoall(exchange, send, recv, 2000) == ALM_ERROR_PEER_LOST);
  free(send);
  free(recv);
  alm_exchange_destroy(exchange);
  CHECK(now_s() - begin < 40);
}

static int progressed;
static int gathered;
static void count_progress(void* context) {
  (void)context;
  ++progressed;
}
static int count_allgather(void* context, const void* mine, size_t bytes, void* all) {
  ++gathered;
  return rank_allgather(context, mine, bytes, all);
}

static void progress_body(struct rank* rank) {
  alm_exchange_config config = rank_config(rank);
  alm_exchange* exchange = NULL;
  config.progress = count_progress;
  config.allgather = count_allgather;
  CHECK_OK(exchange, alm_exchange_create(&config, &exchange));
  const int making = gathered;
  CHECK(making > 0 && making <= 10); /* two of them ask whether routers have answered */
  progressed = 0;
  if (rank->self == 1) usleep(500000);
  equal_blocks(exchange, 1000, 1, 0);
  if (rank->self == 0) CHECK(progressed > 20);
  CHECK(gathered == making); /* the bootstrap is used to make it and never again */
  alm_exchange_destroy(exchange);
}

static void fork_body(struct rank* rank) {
  alm_exchange* exchange = rank_exchange(rank);
  equal_blocks(exchange, 1000, 1, 0);
  const pid_t child = fork();
  if (child == 0) {
    unsigned char send[64], recv[64];
    const int code = alm_exchange_alltoall(exchange, send, recv, 8);
    alm_exchange_destroy(exchange); /* lets go of what the parent goes on with */
    _exit(code == ALM_OK);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  equal_blocks(exchange, 1000, 2, 0);
  alm_exchange_destroy(exchange);
}

static void counters_body(struct rank* rank) {
  alm_exchange* exchange = rank_exchange(rank);
  char small[10], *text;
  size_t length = 0, again = 0;
  equal_blocks(exchange, 20000, 1, 0);
  CHECK_OK(exchange, alm_exchange_counters(exchange, NULL, 0, &length));
  CHECK(length > 100);
  CHECK_OK(exchange, alm_exchange_counters(exchange, small, sizeof small, NULL));
  CHECK(strlen(small) == sizeof small - 1);
  text = malloc(length + 200);
  CHECK_OK(exchange, alm_exchange_counters(exchange, text, length + 200, &again));
  CHECK(strlen(text) == again && text[0] == '{');
  CHECK(strstr(text, "\"exchanges\": 1,") != NULL);
  CHECK(strstr(text, "\"packets\": 0,") == NULL);
  CHECK(alm_exchange_counters(exchange, NULL, 5, NULL) == ALM_ERROR_ARGUMENT);
  CHECK(strstr(alm_error_message(exchange), "text is NULL, but capacity is 5") != NULL);
  void* volatile in_place = (void*)(intptr_t)-1; /* compilers know that nothing is there */
  CHECK(alm_exchange_alltoall(exchange, text, in_place, 8) == ALM_ERROR_ARGUMENT);
  CHECK(strstr(alm_error_message(exchange), "recv is ALM_IN_PLACE") != NULL);
  free(text);
  alm_exchange_destroy(exchange);
}

static void names_body(struct rank* rank) {
  (void)rank;
  CHECK(alm_version() == ALM_VERSION_MAJOR * 10000 + ALM_VERSION_MINOR * 100 + ALM_VERSION_PATCH);
  CHECK(strcmp(alm_version_string(), "0.1.0") == 0);
  CHECK(strcmp(alm_error_name(ALM_ERROR_PEER_LOST), "ALM_ERROR_PEER_LOST") == 0);
  CHECK(strcmp(alm_error_name(-5), "unknown error") == 0);
  CHECK_SAYS(NULL, "no exchange");
}

/* --------------------------------------------------------------------------------------- */

static const struct {
  const char* name;
  uint32_t ranks;
  rank_main body;
} cases[] = {
    {"alltoall", 2, alltoall_body},
    {"alltoall_many", 7, alltoall_body},
    {"alltoallv", 5, alltoallv_body},
    {"alone", 1, alone_body},
    {"two_exchanges", 3, two_exchanges_body},
    {"busy", 2, busy_body},
    {"arguments", 2, arguments_body},
    {"options", 2, options_body},
    {"bootstrap", 2, bootstrap_body},
    {"cluster", 3, cluster_body},
    {"sites", 4, sites_body},
    {"mismatch", 3, mismatch_body},
    {"mismatch_v", 3, mismatch_v_body},
    {"dead_peer", 3, dead_peer_body},
    {"progress", 2, progress_body},
    {"fork", 2, fork_body},
    {"counters", 2, counters_body},
    {"names", 1, names_body},
};

int main(int argc, char** argv) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    if (argc == 2 && strcmp(argv[1], cases[i].name) == 0) {
      return run_ranks(cases[i].ranks, cases[i].body) == 0 ? 0 : 1;
    }
  }
  fprintf(stderr, "usage: exchange_test CASE, with CASE one of:");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) fprintf(stderr, " %s", cases[i].name);
  fprintf(stderr, "\n");
  return 2;
}
