#define _GNU_SOURCE
#include "forked_ranks.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_S = 60, RANKS_MAX = 16 };

static int move(int fd, void* bytes, size_t count, int sending) {
  char* at = bytes;
  while (count > 0) {
    const ssize_t moved = sending ? send(fd, at, count, MSG_NOSIGNAL) : recv(fd, at, count, 0);
    if (moved <= 0) return -1;
    at += moved;
    count -= (size_t)moved;
  }
  return 0;
}

int rank_allgather(void* context, const void* mine, size_t bytes, void* all) {
  struct rank* rank = context;
  if (rank->silent_from >= 0 && rank->calls++ >= rank->silent_from) return 17;
  memcpy((char*)all + rank->self * bytes, mine, bytes);
  if (rank->self != 0) {
    return move(rank->to[0], (void*)mine, bytes, 1) ||
           move(rank->to[0], all, rank->ranks * bytes, 0);
  }
  for (uint32_t from = 1; from < rank->ranks; ++from) {
    if (move(rank->to[from], (char*)all + from * bytes, bytes, 0)) return -1;
  }
  for (uint32_t to = 1; to < rank->ranks; ++to) {
    if (move(rank->to[to], all, rank->ranks * bytes, 1)) return -1;
  }
  return 0;
}

int run_ranks(uint32_t ranks, rank_main body) {
  int ends[RANKS_MAX][2];
  pid_t children[RANKS_MAX];
  fflush(NULL);
  for (uint32_t i = 1; i < ranks; ++i) {
    const struct timeval patience = {PATIENCE_S, 0};
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends[i])) abort();
    for (int end = 0; end < 2; ++end) {
      setsockopt(ends[i][end], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    }
  }
  for (uint32_t self = 0; self < ranks; ++self) {
    children[self] = fork();
    if (children[self] < 0) abort();
    if (children[self] > 0) continue;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(2 * PATIENCE_S);
    int to[RANKS_MAX];
    for (uint32_t i = 1; i < ranks; ++i) {
      to[i] = ends[i][0];
      if (i == self) to[0] = ends[i][1];
      close(self == 0 ? ends[i][1] : ends[i][0]);
      if (self != 0 && i != self) close(ends[i][1]);
    }
    struct rank rank = {self, ranks, to, -1, 0};
    body(&rank);
    exit(0);
  }
  for (uint32_t i = 1; i < ranks; ++i) {
    close(ends[i][0]);
    close(ends[i][1]);
  }
  int failed = 0;
  for (uint32_t self = 0; self < ranks; ++self) {
    int status = 0;
    waitpid(children[self], &status, 0);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) continue;
    if (WIFSIGNALED(status)) fprintf(stderr, "rank %u: signal %d\n", self, WTERMSIG(status));
    failed += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
  }
  return failed;
}

alm_exchange_config rank_config(struct rank* rank) {
  static const char* const options[] = {"hello_timeout_ms=20000", "peer_timeout_s=60", NULL};
  alm_exchange_config config = ALM_EXCHANGE_CONFIG_INIT;
  config.ranks = rank->ranks;
  config.self = rank->self;
  config.allgather = rank_allgather;
  config.context = rank;
  config.options = options;
  return config;
}

alm_exchange* rank_exchange(struct rank* rank) {
  const alm_exchange_config config = rank_config(rank);
  alm_exchange* exchange = NULL;
  CHECK_OK(exchange, alm_exchange_create(&config, &exchange));
  return exchange;
}

unsigned char pattern(uint32_t from, uint32_t to, size_t at, unsigned round) {
  return (unsigned char)(from * 131 + to * 31 + at * 7 + (at >> 8) + round * 57 + 1);
}

void check_at(int good, const char* what, const char* file, int line,
              const alm_exchange* exchange) {
  if (good) return;
  fprintf(stderr, "%s:%d: %s: %s\n", file, line, what,
          exchange == NULL ? "no" : alm_error_message(exchange));
  exit(1);
}

void check_says(const alm_exchange* exchange, const char* text, const char* file, int line) {
  const char* message = alm_error_message(exchange);
  if (strstr(message, text) != NULL) return;
  fprintf(stderr, "%s:%d: \"%s\" lacks \"%s\"\n", file, line, message, text);
  exit(1);
}

int rank_gathers_nothing(void* context, const void* mine, size_t bytes, void* all) {
  const struct rank* rank = context;
  (void)mine;
  memset(all, 0, bytes * rank->ranks);
  return 0;
}
