/* All-to-all exchanges over contention-free schedules, for programs without MPI.
 *
 * The processes of a job make an exchange together, once, and then call it as often as they like:
 *
 *     alm_exchange_config config = ALM_EXCHANGE_CONFIG_INIT;
 *     config.ranks = 32;
 *     config.self = my_rank;
 *     config.allgather = my_allgather;
 *     config.context = &my_sockets;
 *     alm_exchange *exchange = NULL;
 *     if (alm_exchange_create(&config, &exchange) != ALM_OK ||
 *         alm_exchange_alltoall(exchange, send, recv, bytes_per_rank) != ALM_OK) {
 *       fprintf(stderr, "%s\n", alm_error_message(exchange));
 *     }
 *     alm_exchange_destroy(exchange);
 *
 * Data travels over UDP between the hosts, in the order that suits the network of the cluster file
 * best. The program brings an allgather of its own (over TCP, PMIx, a shared file system), which is
 * used while the exchange is made and never again.
 *
 * "Collective" means: every rank calls it, in the same order relative to the other collective calls
 * on the same exchange. The others wait for a rank that comes late for as long as it lives: a
 * thread of its own answers for it. When a rank is silent because it has ended, stopped or lost its
 * link, the others warn after peer_warning_s, and their call fails with ALM_ERROR_PEER_LOST after
 * peer_timeout_s.
 *
 * Threads. Different exchanges may be used by different threads at the same time. One exchange is
 * used by one thread at a time; a second one gets ALM_ERROR_BUSY. An exchange keeps a thread of its
 * own, with all signals blocked, that answers late peers between the calls. In a child after fork()
 * exchanges of the parent are inert: no exchange is made.
 *
 * Sizes and displacements are in bytes. Strings are UTF-8 and end with a zero byte.
 *
 * The binary interface is stable within a major version: functions and codes are added, never
 * changed. C11 and C++11.
 */
#ifndef ALLEMANDE_ALLEMANDE_H
#define ALLEMANDE_ALLEMANDE_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define ALM_API __attribute__((visibility("default")))
#else
#define ALM_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this header; alm_version() is that of the library. */
#define ALM_VERSION_MAJOR 0
#define ALM_VERSION_MINOR 1
#define ALM_VERSION_PATCH 0

/* major * 10000 + minor * 100 + patch */
ALM_API int alm_version(void);
/* "0.1.0" */
ALM_API const char* alm_version_string(void);

/* ---- errors --------------------------------------------------------------------------- */

enum {
  ALM_OK = 0,
  /* A wrong argument. Nothing has been sent and the exchange can still be used, but the other ranks
   * may be waiting for this one. */
  ALM_ERROR_ARGUMENT = 1,
  /* Options or cluster file are not valid, or not the same on all ranks. All ranks get this. */
  ALM_ERROR_CONFIG = 2,
  /* `allgather` has returned something else than 0, or put contributions in a wrong order. */
  ALM_ERROR_BOOTSTRAP = 3,
  /* UDP does not get through between all ranks, or allemande is switched off (ALLEMANDE_DISABLE). *
   * All ranks get this: they may exchange by other means together. */
  ALM_ERROR_UNAVAILABLE = 4,
  /* A rank has been silent for peer_timeout_s. The exchange has failed for good. */
  ALM_ERROR_PEER_LOST = 5,
  /* Two ranks do not agree on the size of a block. The exchange has failed for good. */
  ALM_ERROR_MISMATCH = 6,
  /* Another thread is inside a call on the same exchange. */
  ALM_ERROR_BUSY = 7,
  /* The operating system has refused something: memory, a socket, a thread. */
  ALM_ERROR_SYSTEM = 8
};

/* "ALM_ERROR_PEER_LOST"; for numbers that are no code "unknown error". */
ALM_API const char* alm_error_name(int code);

/* ---- making an exchange --------------------------------------------------------------- */

typedef struct alm_exchange alm_exchange;

/* Collective. Contributes `bytes` bytes at `mine` and writes the contributions of all ranks to
 * `all`, in rank order: ranks * bytes bytes. `bytes` is the same on all ranks. Returns 0 on
 * success. Anything else ends the creation with ALM_ERROR_BOOTSTRAP. Called in the thread that
 * makes the exchange, about five times, with a few hundred bytes; it must give up by itself when a
 * rank does not come. */
typedef int (*alm_allgather_fn)(void* context, const void* mine, size_t bytes, void* all);

/* What alm_exchange_config::log gets. */
enum { ALM_LOG_WARNING = 1, ALM_LOG_INFO = 2 };
typedef void (*alm_log_fn)(void* context, int level, const char* message);
typedef void (*alm_progress_fn)(void* context);

typedef struct alm_exchange_config {
  /* sizeof(alm_exchange_config), as ALM_EXCHANGE_CONFIG_INIT sets it. */
  size_t struct_size;
  /* How many ranks there are, 1 to ALM_RANKS_MAX, and which one this process is, from 0. */
  uint32_t ranks, self;
  alm_allgather_fn allgather;
  /* Handed to allgather, progress and log. */
  void* context;
  /* Cluster file (TOML, docs/cluster-file.md) that describes hosts, switches and links. Its
   * contents must be the same on all ranks. NULL: ALLEMANDE_CLUSTER, and without that all hosts are
   * taken to hang on one switch. */
  const char* cluster_file;
  /* This host's name in the cluster file. Ranks with the same name share a host. NULL: as
   * gethostname() gives it. */
  const char* host;
  /* "key=value" strings, the last one followed by NULL; the keys are those of docs/options.md. They
   * override the environment (ALLEMANDE_...) and the configuration file. NULL: none. */
  const char* const* options;
  /* Called at least once per millisecond while a call waits, in the calling thread, so that other
   * traffic of the process can proceed. It returns soon and makes no call on the same exchange.
   * NULL: nothing. */
  alm_progress_fn progress;
  /* Gets what the option `log` allows, except errors: those are returned. Called in the calling
   * thread. NULL: lines on standard error. */
  alm_log_fn log;
  /* For the algorithms that know sites (docs/grid.md): how many ranks each of `site_count` sites
   * has, in the order of the ranks; together all of them. The same on all ranks. NULL: what the
   * option `sites`, the option `site` of every host or the cluster file says, in this order. */
  const uint32_t* sites;
  uint32_t site_count;
} alm_exchange_config;

#define ALM_EXCHANGE_CONFIG_INIT \
  { sizeof(alm_exchange_config), 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0 }

#define ALM_RANKS_MAX 65535u

/* Collective. Makes an exchange among config->ranks processes: compares the settings, opens a UDP
 * socket, and sees that packets of full size get through between all pairs, for which it takes
 * hello_timeout_ms (3 s) at most, twice where smaller packets have to be tried. `config` and the
 * strings in it need not outlive the call; `context` and the functions must live until
 * alm_exchange_destroy.
 *
 * *exchange is set whatever is returned; it is NULL only where there is no memory. After an error
 * it may be passed to alm_error_message and alm_exchange_destroy alone.
 *
 * Options that speak of an MPI library have no meaning here: `trials`, `init_timeout_s` and `stats`
 * are not looked at; `transport=mpi` is ALM_ERROR_CONFIG; `disable` and `algorithm=native` are
 * ALM_ERROR_UNAVAILABLE. */
ALM_API int alm_exchange_create(const alm_exchange_config* config, alm_exchange** exchange);

/* Not collective. Waits until the other ranks have acknowledged everything, for 10 s and
 * peer_timeout_s at most and not at all after an error, then gives everything back. No other
 * thread may be inside a call on it. NULL: nothing. */
ALM_API void alm_exchange_destroy(alm_exchange* exchange);

ALM_API uint32_t alm_exchange_ranks(const alm_exchange* exchange);
ALM_API uint32_t alm_exchange_self(const alm_exchange* exchange);

/* ---- exchanging ----------------------------------------------------------------------- */

/* In place of `send`: what is to be sent lies in `recv`, where what is received replaces it. */
#define ALM_IN_PLACE ((const void*)(intptr_t)-1)

/* The most one rank may send to another in one call. */
#define ALM_BLOCK_BYTES_MAX ((uint64_t)1 << 40)

/* Collective. Sends block r of `send` to rank r, and puts what rank r has sent to this one into
 * block r of `recv`. A block has `bytes_per_rank` bytes, the same on all ranks; block r begins at
 * r * bytes_per_rank. Ranks that do not agree on it get ALM_ERROR_MISMATCH or ALM_ERROR_PEER_LOST
 * where they take the same algorithm for their sizes, else they wait for each other. Both buffers
 * have room for ranks * bytes_per_rank bytes and do not overlap. Returns when everything has come
 * and `send` may be changed again. With 0 bytes nothing happens. */
ALM_API int alm_exchange_alltoall(alm_exchange* exchange, const void* send, void* recv,
                                  size_t bytes_per_rank);

/* Collective. The same with blocks of any size: send_bytes[r] bytes at `send` +
 * send_displacements[r] go to rank r, recv_bytes[r] bytes from rank r come to `recv` +
 * recv_displacements[r]. All four arrays have one entry per rank, the own one included. What rank a
 * sends to rank b is as long as what b expects from a (else ALM_ERROR_MISMATCH on both, perhaps
 * only by their next call, and every other rank follows). 0 is a size like any other. Received
 * blocks overlap neither each other nor what is sent. With ALM_IN_PLACE `send_bytes` and
 * `send_displacements` are not looked at: as much goes to every rank as comes from it. */
ALM_API int alm_exchange_alltoallv(alm_exchange* exchange, const void* send,
                                   const size_t* send_bytes, const size_t* send_displacements,
                                   void* recv, const size_t* recv_bytes,
                                   const size_t* recv_displacements);

/* ---- what happened -------------------------------------------------------------------- */

/* The message of the last call on the exchange that failed: what happened, to what, what to do. ""
 * when none has. Lives until the next call on the exchange. NULL: a text that says so. */
ALM_API const char* alm_error_message(const alm_exchange* exchange);

/* The counters of this rank as a JSON object (docs/preload.md, Counters). Writes at most `capacity`
 * bytes, the final zero included, and sets *length (unless NULL) to the length of the whole text
 * without it; a text that does not fit is cut off. `text` may be NULL when `capacity` is 0. */
ALM_API int alm_exchange_counters(alm_exchange* exchange, char* text, size_t capacity,
                                  size_t* length);

#ifdef __cplusplus
}
#endif

#endif
