/* An allgather over TCP: every rank connects to rank 0, which collects and hands out. */
#ifndef TCP_BOOTSTRAP_H
#define TCP_BOOTSTRAP_H

#include <stddef.h>
#include <stdint.h>

struct tcp_bootstrap {
  uint32_t ranks, self;
  int* to; /* rank 0: to[r] leads to rank r; others: to[0] leads to rank 0 */
};

/* Returns 0, or -1 with a message on standard error. `host` is where rank 0 runs. */
int tcp_bootstrap_open(struct tcp_bootstrap* bootstrap, uint32_t ranks, uint32_t self,
                       const char* host, const char* port, int timeout_s);
void tcp_bootstrap_close(struct tcp_bootstrap* bootstrap);

/* An alm_allgather_fn; `context` is the struct. */
int tcp_bootstrap_allgather(void* context, const void* mine, size_t bytes, void* all);

#endif
