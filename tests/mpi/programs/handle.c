// Not linked against MPI in effect: its functions are those of the MPI library's own handle, as
// Julia, Python's ctypes and Rust may take them. Usage: handle LIBMPI
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void* library;

static void* function(const char* name) {
  void* found = dlsym(library, name);
  if (found == NULL) {
    fprintf(stderr, "no %s: %s\n", name, dlerror());
    exit(1);
  }
  return found;
}

int main(int argc, char** argv) {
  library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  if (!library) {
    fprintf(stderr, "cannot load the library: %s\n", dlerror());
    return 1;
  }
  ((__typeof__(&MPI_Init))function("MPI_Init"))(&argc, &argv);
  ((__typeof__(&MPI_Finalize))function("MPI_Finalize"))();
  puts("CORRECT");
  return 0;
}
