/* Transposes a square matrix whose rows are spread over the ranks, without MPI.
 *
 *     ./transpose RANKS SELF HOST PORT [ROWS_PER_RANK]
 *
 * HOST is where rank 0 runs, PORT any free port there. Start it once per rank, on any hosts:
 *
 *     for r in 0 1 2 3; do ./transpose 4 $r 127.0.0.1 5123 & done; wait
 */
#include <allemande/allemande.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tcp_bootstrap.h"

enum { TIMEOUT_S = 60 };

/* Rank r holds rows r * rows to (r + 1) * rows - 1. Block b of each is what rank b needs: its own
 * columns, turned round on the way. Returns an ALM_ code. */
static int transpose(alm_exchange* exchange, uint32_t rows, const double* matrix, double* turned) {
  const size_t ranks = alm_exchange_ranks(exchange), columns = ranks * rows;
  const size_t block = (size_t)rows * rows;
  double *send = malloc(2 * ranks * block * sizeof *send), *recv = send + ranks * block;
  if (send == NULL) return ALM_ERROR_SYSTEM;
  for (size_t to = 0; to < ranks; ++to) {
    for (size_t row = 0; row < rows; ++row) {
      for (size_t column = 0; column < rows; ++column) {
        send[to * block + column * rows + row] = matrix[row * columns + to * rows + column];
      }
    }
  }
  const int code = alm_exchange_alltoall(exchange, send, recv, block * sizeof *send);
  for (size_t from = 0; code == ALM_OK && from < ranks; ++from) {
    for (size_t row = 0; row < rows; ++row) {
      for (size_t column = 0; column < rows; ++column) {
        turned[row * columns + from * rows + column] = recv[from * block + row * rows + column];
      }
    }
  }
  free(send);
  return code;
}

static int check(uint32_t ranks, uint32_t self, uint32_t rows, const double* turned) {
  const size_t columns = (size_t)ranks * rows;
  for (size_t row = 0; row < rows; ++row) {
    for (size_t column = 0; column < columns; ++column) {
      /* what stood in (column, row) */
      const double expected = (double)(column * columns + self * rows + row);
      if (turned[row * columns + column] != expected) return 0;
    }
  }
  return 1;
}

static int run(alm_exchange* exchange, uint32_t rows) {
  const uint32_t ranks = alm_exchange_ranks(exchange), self = alm_exchange_self(exchange);
  const size_t columns = (size_t)ranks * rows;
  double *matrix = malloc(2 * rows * columns * sizeof *matrix), *turned = matrix + rows * columns;
  if (matrix == NULL) return 1;
  for (size_t at = 0; at < rows * columns; ++at) {
    matrix[at] = (double)((size_t)self * rows * columns + at);
  }
  const int code = transpose(exchange, rows, matrix, turned);
  const int right = code == ALM_OK && check(ranks, self, rows, turned);
  if (code != ALM_OK) {
    fprintf(stderr, "rank %" PRIu32 ": %s: %s\n", self, alm_error_name(code),
            alm_error_message(exchange));
  } else if (self == 0) {
    printf("%s: %zu x %zu over %" PRIu32 " ranks, allemande %s\n", right ? "CORRECT" : "WRONG",
           columns, columns, ranks, alm_version_string());
  }
  free(matrix);
  return right ? 0 : 1;
}

int main(int argc, char** argv) {
  if (argc != 5 && argc != 6) {
    fprintf(stderr, "usage: %s RANKS SELF HOST PORT [ROWS_PER_RANK]\n", argv[0]);
    return 2;
  }
  struct tcp_bootstrap bootstrap = {0};
  const uint32_t rows = argc == 6 ? (uint32_t)strtoul(argv[5], NULL, 10) : 64;
  if (tcp_bootstrap_open(&bootstrap, (uint32_t)strtoul(argv[1], NULL, 10),
                         (uint32_t)strtoul(argv[2], NULL, 10), argv[3], argv[4], TIMEOUT_S)) {
    tcp_bootstrap_close(&bootstrap);
    return 1;
  }
  alm_exchange_config config = ALM_EXCHANGE_CONFIG_INIT;
  config.ranks = bootstrap.ranks;
  config.self = bootstrap.self;
  config.allgather = tcp_bootstrap_allgather;
  config.context = &bootstrap;
  alm_exchange* exchange = NULL;
  int status = 1;
  const int code = alm_exchange_create(&config, &exchange);
  if (code == ALM_OK) {
    status = run(exchange, rows);
  } else {
    fprintf(stderr, "rank %" PRIu32 ": %s: %s\n", config.self, alm_error_name(code),
            alm_error_message(exchange));
  }
  alm_exchange_destroy(exchange);
  tcp_bootstrap_close(&bootstrap);
  return status;
}
