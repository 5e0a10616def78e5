#define _GNU_SOURCE
#include "tcp_bootstrap.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int complain(const char* what) {
  fprintf(stderr, "bootstrap: %s: %s\n", what, strerror(errno));
  return -1;
}

static int send_all(int fd, const void* bytes, size_t count) {
  for (const char* at = bytes; count > 0;) {
    const ssize_t sent = send(fd, at, count, MSG_NOSIGNAL);
    if (sent <= 0) return complain("send");
    at += sent;
    count -= (size_t)sent;
  }
  return 0;
}

static int receive_all(int fd, void* bytes, size_t count) {
  for (char* at = bytes; count > 0;) {
    const ssize_t received = recv(fd, at, count, 0);
    if (received <= 0) return complain("receive");
    at += received;
    count -= (size_t)received;
  }
  return 0;
}

/* A rank that does not come must not keep the others for ever. */
static void set_timeout(int fd, int timeout_s) {
  const struct timeval limit = {timeout_s, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

static int accept_ranks(struct tcp_bootstrap* bootstrap, const struct addrinfo* at, int timeout_s) {
  const int yes = 1;
  const int listener = socket(at->ai_family, at->ai_socktype, at->ai_protocol);
  if (listener < 0) return complain("socket");
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  set_timeout(listener, timeout_s);
  if (bind(listener, at->ai_addr, at->ai_addrlen) || listen(listener, (int)bootstrap->ranks)) {
    close(listener);
    return complain("bind");
  }
  for (uint32_t come = 1; come < bootstrap->ranks; ++come) {
    uint32_t rank = 0;
    const int fd = accept(listener, NULL, NULL);
    if (fd >= 0) set_timeout(fd, timeout_s);
    if (fd < 0 || receive_all(fd, &rank, sizeof rank) || rank == 0 || rank >= bootstrap->ranks ||
        bootstrap->to[rank] >= 0) {
      if (fd >= 0) close(fd);
      close(listener);
      return complain("accept");
    }
    bootstrap->to[rank] = fd;
  }
  close(listener);
  return 0;
}

static int connect_to_root(struct tcp_bootstrap* bootstrap, const struct addrinfo* at,
                           int timeout_s) {
  const time_t limit = time(NULL) + timeout_s;
  for (;;) { /* rank 0 may not listen yet */
    const int fd = socket(at->ai_family, at->ai_socktype, at->ai_protocol);
    if (fd < 0) return complain("socket");
    if (connect(fd, at->ai_addr, at->ai_addrlen) == 0) {
      set_timeout(fd, timeout_s);
      bootstrap->to[0] = fd;
      return send_all(fd, &bootstrap->self, sizeof bootstrap->self);
    }
    close(fd);
    if (time(NULL) >= limit) return complain("connect");
    nanosleep(&(struct timespec){0, 20000000}, NULL);
  }
}

int tcp_bootstrap_open(struct tcp_bootstrap* bootstrap, uint32_t ranks, uint32_t self,
                       const char* host, const char* port, int timeout_s) {
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_family = AF_INET}, *found = NULL;
  const int code = getaddrinfo(host, port, &hints, &found);
  if (code != 0) {
    fprintf(stderr, "bootstrap: %s:%s: %s\n", host, port, gai_strerror(code));
    return -1;
  }
  bootstrap->ranks = ranks;
  bootstrap->self = self;
  bootstrap->to = malloc(ranks * sizeof *bootstrap->to);
  for (uint32_t rank = 0; bootstrap->to != NULL && rank < ranks; ++rank) bootstrap->to[rank] = -1;
  const int done = bootstrap->to == NULL ? -1
                   : self == 0           ? accept_ranks(bootstrap, found, timeout_s)
                                         : connect_to_root(bootstrap, found, timeout_s);
  freeaddrinfo(found);
  return done;
}

void tcp_bootstrap_close(struct tcp_bootstrap* bootstrap) {
  for (uint32_t rank = 0; bootstrap->to != NULL && rank < bootstrap->ranks; ++rank) {
    if (bootstrap->to[rank] >= 0) close(bootstrap->to[rank]);
  }
  free(bootstrap->to);
  bootstrap->to = NULL;
}

int tcp_bootstrap_allgather(void* context, const void* mine, size_t bytes, void* all) {
  const struct tcp_bootstrap* bootstrap = context;
  char* out = all;
  if (bootstrap->self != 0) {
    return send_all(bootstrap->to[0], mine, bytes) ||
           receive_all(bootstrap->to[0], all, bootstrap->ranks * bytes);
  }
  memcpy(out, mine, bytes);
  for (uint32_t rank = 1; rank < bootstrap->ranks; ++rank) {
    if (receive_all(bootstrap->to[rank], out + rank * bytes, bytes)) return -1;
  }
  for (uint32_t rank = 1; rank < bootstrap->ranks; ++rank) {
    if (send_all(bootstrap->to[rank], all, bootstrap->ranks * bytes)) return -1;
  }
  return 0;
}
