// Not linked against MPI in effect: everything happens in a module opened RTLD_LOCAL.
// Usage: loader MODULE
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  void* module = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  if (!module) {
    fprintf(stderr, "cannot load the module: %s\n", dlerror());
    return 1;
  }
  int (*run)(int*, char***) = (int (*)(int*, char***))dlsym(module, "run");
  return run(&argc, &argv);
}
