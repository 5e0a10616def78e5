/* Ranks as forked processes on one machine, with an allgather over socket pairs to rank 0. */
#ifndef TESTS_CAPI_RANKS_H
#define TESTS_CAPI_RANKS_H

#include <allemande/allemande.h>
#include <stdint.h>

struct rank {
  uint32_t self, ranks;
  int* to;         /* rank 0: a socket to each rank; others: to[0] leads to rank 0 */
  int silent_from; /* the allgather fails from this call on; -1: never */
  int calls;
};

typedef void (*rank_main)(struct rank* rank);

int rank_allgather(void* rank, const void* mine, size_t bytes, void* all);
/* As one that has forgotten to receive. */
int rank_gathers_nothing(void* rank, const void* mine, size_t bytes, void* all);

/* Runs body in `ranks` processes and waits for all. Returns how many did not exit with 0; a rank
 * that is killed by SIGKILL, on purpose, does not count. */
int run_ranks(uint32_t ranks, rank_main body);

/* A config for the rank, with patience for a busy machine and short timeouts for lost peers. */
alm_exchange_config rank_config(struct rank* rank);

/* Makes the exchange, or ends the process with a message. */
alm_exchange* rank_exchange(struct rank* rank);

/* What rank `from` sends to rank `to` at position `at`, in the call number `round`. */
unsigned char pattern(uint32_t from, uint32_t to, size_t at, unsigned round);

void check_at(int good, const char* what, const char* file, int line, const alm_exchange* exchange);
#define CHECK(good) check_at((good), #good, __FILE__, __LINE__, NULL)
#define CHECK_OK(exchange, call) check_at((call) == ALM_OK, #call, __FILE__, __LINE__, (exchange))
/* The last message on the exchange has this text in it. */
void check_says(const alm_exchange* exchange, const char* text, const char* file, int line);
#define CHECK_SAYS(exchange, text) check_says((exchange), (text), __FILE__, __LINE__)

#endif
