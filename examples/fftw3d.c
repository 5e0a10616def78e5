// A three-dimensional Fourier transform by FFTW's own MPI transforms, there and back.
//
// FFTW chooses itself how slabs are turned around: by MPI_Alltoall, or by rounds of MPI_Sendrecv,
// which nothing can speed up from outside. It takes the first where it may overwrite its input
// (FFTW_DESTROY_INPUT) and leave the spectrum transposed (FFTW_MPI_TRANSPOSED_OUT), which saves a
// second exchange besides.
//
//   mpicc fftw3d.c -lfftw3_mpi -lfftw3 -lm && mpirun -n 32 ./a.out [size [repeats]]
#include <complex.h>
#include <fftw3-mpi.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The same numbers at the same places in every run, whatever the number of ranks.
static double number(uint64_t place) {
  place = (place + 1) * 0x9e3779b97f4a7c15u;
  place = (place ^ (place >> 29)) * 0xbf58476d1ce4e5b9u;
  return (double)(place >> 11) / (double)(1ull << 53) - 0.5;
}

static uint64_t bits(const fftw_complex* data, ptrdiff_t count) {
  uint64_t all = 0, word;
  const double* numbers = (const double*)data;
  for (ptrdiff_t i = 0; i < 2 * count; ++i) {
    memcpy(&word, &numbers[i], sizeof word);
    all ^= word;
  }
  return all;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  fftw_mpi_init();
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const ptrdiff_t n = argc > 1 ? atol(argv[1]) : 128;
  const int repeats = argc > 2 ? atoi(argv[2]) : 3;

  ptrdiff_t planes, first, lines, first_line;
  const ptrdiff_t room = fftw_mpi_local_size_3d_transposed(n, n, n, MPI_COMM_WORLD, &planes, &first,
                                                           &lines, &first_line);
  fftw_complex* cube = fftw_alloc_complex((size_t)room);
  fftw_complex* spectrum = fftw_alloc_complex((size_t)room);
  const unsigned flags = FFTW_ESTIMATE | FFTW_DESTROY_INPUT;
  fftw_plan forward = fftw_mpi_plan_dft_3d(n, n, n, cube, spectrum, MPI_COMM_WORLD, FFTW_FORWARD,
                                           flags | FFTW_MPI_TRANSPOSED_OUT);
  fftw_plan backward = fftw_mpi_plan_dft_3d(n, n, n, spectrum, cube, MPI_COMM_WORLD, FFTW_BACKWARD,
                                            flags | FFTW_MPI_TRANSPOSED_IN);
  const ptrdiff_t mine = planes * n * n;
  for (ptrdiff_t i = 0; i < mine; ++i) {
    const uint64_t place = (uint64_t)(first * n * n + i);
    cube[i] = number(2 * place) + I * number(2 * place + 1);
  }

  fftw_execute(forward);  // connects the ranks: not what is measured
  uint64_t result = bits(spectrum, lines * n * n);
  fftw_execute(backward);
  double error = 0;
  for (ptrdiff_t i = 0; i < mine; ++i) {
    const uint64_t place = (uint64_t)(first * n * n + i);
    cube[i] /= (double)(n * n * n);
    error = fmax(error, cabs(cube[i] - (number(2 * place) + I * number(2 * place + 1))));
  }

  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int i = 0; i < repeats; ++i) {
    fftw_execute(forward);
    fftw_execute(backward);
    for (ptrdiff_t at = 0; at < mine; ++at) cube[at] /= (double)(n * n * n);
  }
  double seconds = (MPI_Wtime() - begin) / repeats;

  MPI_Allreduce(MPI_IN_PLACE, &result, 1, MPI_UINT64_T, MPI_BXOR, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &error, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("size %td^3 complex on %d ranks\n", n, ranks);
    printf("result %016llx\n", (unsigned long long)result);
    printf("error %.2g\n", error);
    printf("seconds %.4f\n", seconds);
  }
  fftw_destroy_plan(forward);
  fftw_destroy_plan(backward);
  fftw_free(cube);
  fftw_free(spectrum);
  MPI_Finalize();
  return error < 1e-12 ? 0 : 1;
}
