// What one rank of NAS FT computes in an iteration, without the others: evolve, transforms along
// three axes, and both local halves of the transposition, as the benchmark's Fortran does it
// (slabs, a radix-2 transform after Stockham over 16 lines at once). Prints the seconds of an
// iteration, the clock of the core (by additions that wait for each other, one a cycle), and the
// bytes that a transposition sends.
//
//   cc -O3 -march=x86-64 ft_rank.c -lm -o ft_rank && ./ft_rank NX NY NZ RANKS [ITERATIONS]
#include <complex.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef double complex Number;
enum { kBlock = 16, kLongest = 512 };

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static Number roots[2 * kLongest];  // for each stage its own, one after the other

static void make_roots(void) {
  for (int half = 1, at = 0; half < kLongest; at += half, half *= 2) {
    for (int i = 0; i < half; ++i) roots[at + i] = cexp(I * M_PI * i / half);
  }
}

// One stage of Stockham's transform over kBlock lines of n points, from x to y.
static void stage(int half, int groups, const Number* u, int n, const Number (*x)[kBlock],
                  Number (*y)[kBlock]) {
  for (int i = 0; i < groups; ++i) {
    const Number root = u[i];
    for (int k = 0; k < half; ++k) {
      const Number* a = x[i * half + k];
      const Number* b = x[i * half + k + n / 2];
      Number* sum = y[2 * i * half + k];
      Number* difference = y[(2 * i + 1) * half + k];
      for (int j = 0; j < kBlock; ++j) {
        const double dr = creal(a[j]) - creal(b[j]), di = cimag(a[j]) - cimag(b[j]);
        sum[j] = a[j] + b[j];
        difference[j] =
            CMPLX(creal(root) * dr - cimag(root) * di, creal(root) * di + cimag(root) * dr);
      }
    }
  }
}

static void transform(int n, Number (*x)[kBlock], Number (*y)[kBlock]) {
  int half = 1;
  for (int groups = n / 2; groups >= 1; groups /= 2, half *= 2) {
    stage(half, groups, roots + groups - 1, n, (const Number(*)[kBlock])x, y);
    Number(*swap)[kBlock] = x;
    x = y;
    y = swap;
  }
  // An odd number of stages leaves the result in the other buffer.
  int stages = 0;
  for (int m = n; m > 1; m /= 2) ++stages;
  if (stages % 2 != 0) memcpy(y, x, sizeof(*x) * (size_t)n);
}

static Number in[kLongest][kBlock], out[kLongest][kBlock];

// All lines of n points `stride` apart, in groups of kBlock lines that are `apart` from each other.
static void along(Number* data, size_t points, int n, size_t stride, size_t apart) {
  const size_t lines = points / (size_t)n;
  for (size_t line = 0; line < lines; line += kBlock) {
    // Where this line begins: axes faster than its own, then slower ones.
    Number* begin = apart == 1 ? data + line % stride + line / stride * stride * (size_t)n
                               : data + line * apart;
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < kBlock; ++j) in[i][j] = begin[(size_t)i * stride + (size_t)j * apart];
    }
    transform(n, in, out);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < kBlock; ++j) begin[(size_t)i * stride + (size_t)j * apart] = in[i][j];
    }
  }
}

static void turn(const Number* from, Number* to, size_t rows, size_t columns) {
  enum { kTile = 32 };
  for (size_t r = 0; r < rows; r += kTile) {
    for (size_t c = 0; c < columns; c += kTile) {
      for (size_t j = c; j < c + kTile && j < columns; ++j) {
        for (size_t i = r; i < r + kTile && i < rows; ++i) to[j * rows + i] = from[i * columns + j];
      }
    }
  }
}

// A line against sums as the transform is defined.
static bool transforms_right(void) {
  enum { kPoints = 64 };
  Number line[kPoints];
  for (int i = 0; i < kPoints; ++i) line[i] = CMPLX(sin(3 * i), cos(5.0 * i * i));
  for (int i = 0; i < kPoints; ++i) {
    for (int j = 0; j < kBlock; ++j) in[i][j] = line[i];
  }
  transform(kPoints, in, out);
  for (int k = 0; k < kPoints; ++k) {
    Number sum = 0;
    for (int i = 0; i < kPoints; ++i) sum += line[i] * cexp(I * 2 * M_PI * i * k / kPoints);
    if (!(cabs(sum - in[k][kBlock - 1]) < 1e-9)) return false;
  }
  return true;
}

static double clock_hz(void) {
  const uint64_t additions = 1000000000;
  uint64_t sum = 0;
  const double begin = seconds();
  for (uint64_t i = 0; i < additions / 8; ++i) {
    for (int k = 0; k < 8; ++k) __asm__ volatile("add $1, %0" : "+r"(sum));
  }
  return (double)sum / (seconds() - begin);
}

int main(int argc, char** argv) {
  if (argc < 5) {
    fprintf(stderr, "usage: ft_rank NX NY NZ RANKS [ITERATIONS]; 512 256 256 32 is class B\n");
    return 2;
  }
  const size_t nx = strtoul(argv[1], 0, 10), ny = strtoul(argv[2], 0, 10);
  const size_t nz = strtoul(argv[3], 0, 10), ranks = strtoul(argv[4], 0, 10);
  const int iterations = argc > 5 ? atoi(argv[5]) : 5;
  const size_t points = nx * ny * nz / ranks;
  if (nx > kLongest || ny > kLongest || nz > kLongest || nz % ranks != 0 || nx % ranks != 0) {
    fprintf(stderr, "ft_rank: axes of %d points at most, which the ranks divide\n", kLongest);
    return 2;
  }
  Number* u0 = malloc(points * sizeof *u0);
  Number* u1 = malloc(points * sizeof *u1);
  Number* u2 = malloc(points * sizeof *u2);
  double* twiddle = malloc(points * sizeof *twiddle);
  for (size_t i = 0; i < points; ++i) {
    u0[i] = CMPLX((double)(i % 977) / 977, (double)(i % 1013) / 1013);
    twiddle[i] = 1 - 1e-9 * (double)(i % 1000);
  }
  make_roots();
  if (!transforms_right()) {
    fprintf(stderr, "ft_rank: a transform differs from its definition\n");
    return 1;
  }
  double best = 1e9, parts[3] = {0, 0, 0}, sum = 0;
  for (int i = 0; i < iterations; ++i) {
    const double begin = seconds();
    for (size_t k = 0; k < points; ++k) {  // evolve
      u0[k] *= twiddle[k];
      u1[k] = u0[k];
    }
    const double evolved = seconds();
    // Slabs across x: lines along z are whole. Backwards: z, turned around, y, x.
    along(u1, points, (int)nz, 1, nz);
    const double first = seconds();
    turn(u1, u2, points / nz, nz);
    // What comes lies by rank: put together by line.
    const size_t each = points / ranks, row = each / (nz / ranks);
    for (size_t line = 0; line < nz / ranks; ++line) {
      for (size_t rank = 0; rank < ranks; ++rank) {
        memcpy(u1 + (line * ranks + rank) * row, u2 + rank * each + line * row, row * sizeof *u1);
      }
    }
    const double turned = seconds();
    along(u1, points, (int)ny, nx, 1);
    along(u1, points, (int)nx, 1, nx);
    const double end = seconds();
    for (size_t k = 0; k < 1024; ++k) sum += creal(u1[k * 7919 % points]);  // checksum
    if (end - begin < best) {
      best = end - begin;
      parts[0] = evolved - begin;
      parts[1] = first - evolved + end - turned;
      parts[2] = turned - first;
    }
  }
  const double hz = clock_hz();
  const double all = (double)(nx * ny * nz);
  const double flop = all * (5.23518 + 7.21113 * log(all)) / (double)ranks;  // as NAS counts
  printf("clock %.3f GHz, iteration %.4f s: evolve %.4f, transforms %.4f, turning %.4f\n", hz / 1e9,
         best, parts[0], parts[1], parts[2]);
  printf("Mcycles %.1f, Mflop %.1f, Gflop/s %.3f, sent %zu bytes a pair (%g)\n", best * hz / 1e6,
         flop / 1e6, flop / best / 1e9, points / ranks * sizeof(Number), sum);
  return 0;
}
