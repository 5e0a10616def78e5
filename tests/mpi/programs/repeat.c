// Exchanges again and again. Usage: repeat COUNT BYTES [FOLDER [return]]
// With FOLDER each rank writes its pid to FOLDER/pid.RANK after the first exchange, rank 0 last.
// With `return` errors come back as codes: the first is printed
// with its class, and so is that of one more call.
#include "check.h"

static void write_pid(const char* folder, int rank) {
  char path[4096];
  snprintf(path, sizeof path, "%s/pid.%d.new", folder, rank);
  FILE* file = fopen(path, "w");
  expect(file != NULL, "cannot write the pid file");
  fprintf(file, "%ld\n", (long)getpid());
  fclose(file);
  char name[4096];
  snprintf(name, sizeof name, "%s/pid.%d", folder, rank);
  expect(rename(path, name) == 0, "cannot name the pid file");
}

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const long count = argc > 1 ? atol(argv[1]) : 10;
  const long bytes = argc > 2 ? atol(argv[2]) : 1000;
  const char* folder = argc > 3 ? argv[3] : NULL;
  if (argc > 4) MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (long i = 0; i < count; ++i) {
    const int code = exchange_bytes(MPI_COMM_WORLD, bytes, (unsigned)i);
    if (code != MPI_SUCCESS) {
      char text[MPI_MAX_ERROR_STRING];
      int length = 0;
      MPI_Error_string(code, text, &length);
      int error_class = 0;
      MPI_Error_class(code, &error_class);
      printf("ERROR %d: %s\nCLASS %d: %d\n", rank, text, rank, error_class);
      const int again = exchange_bytes(MPI_COMM_WORLD, bytes, (unsigned)i);
      printf("AGAIN %d: %s\n", rank, again == MPI_SUCCESS ? "no error" : "an error");
      fflush(stdout);
      _exit(3);
    }
    if (i == 0 && folder) write_pid(folder, rank);
  }
  MPI_Finalize();
  if (rank == 0) puts("CORRECT");
  return 0;
}
