// Datatypes of many shapes with the same signature: 12 ints, 48 bytes, per unit.
#pragma once

#include "check.h"

enum { kLayouts = 6, kUnitBytes = 48, kBelow = 32, kExtentMax = 112 };

typedef struct {
  MPI_Datatype type;
  int per_unit;       // elements that make 48 bytes
  long extent;        // bytes from one element to the next
  const long* order;  // offset of every data byte inside a unit, in signature order
} Layout;

static Layout layouts[kLayouts];

static inline MPI_Datatype resized(MPI_Datatype inner, MPI_Aint lower, MPI_Aint extent) {
  MPI_Datatype made;
  MPI_Type_create_resized(inner, lower, extent, &made);
  MPI_Type_free(&inner);
  MPI_Type_commit(&made);
  return made;
}

static inline void make_layouts(void) {
  static long plain[48], strided[48], gaps[48], swapped[48], shifted[48], below[48];
  for (long i = 0; i < 48; ++i) {
    const long word = i / 4, byte = i % 4;
    plain[i] = i;
    strided[i] = (word / 2 * 5 + word % 2) * 4 + byte;  // vector: 6 blocks of 2 in 5
    gaps[i] = (word < 1 ? word : word < 4 ? word + 2 : word + 4) * 4 + byte;  // struct 1, 3, 8
    swapped[i] = (word ^ 1) * 4 + byte;  // pairs exchanged, no gap
    shifted[i] = 8 + i;                  // begins above the lower bound
    below[i] = i - kBelow;               // begins at a negative lower bound
  }
  MPI_Datatype inner;
  int one = 12, lengths[3] = {1, 3, 8}, singles[12];
  MPI_Aint at[3] = {0, 3 * 4, 8 * 4}, eight = 8, negative = -kBelow;
  MPI_Datatype words[3] = {MPI_INT, MPI_INT, MPI_INT};

  layouts[0] = (Layout){MPI_INT, 12, 4, plain};
  MPI_Type_vector(6, 2, 5, MPI_INT, &inner);
  layouts[1] = (Layout){resized(inner, 0, kExtentMax), 1, kExtentMax, strided};
  MPI_Type_create_struct(3, lengths, at, words, &inner);
  layouts[2] = (Layout){resized(inner, 0, 80), 1, 80, gaps};
  for (int i = 0; i < 12; ++i) singles[i] = i ^ 1;
  MPI_Type_create_indexed_block(12, 1, singles, MPI_INT, &inner);
  layouts[3] = (Layout){resized(inner, 0, 48), 1, 48, swapped};
  MPI_Type_create_struct(1, &one, &eight, words, &inner);
  layouts[4] = (Layout){resized(inner, 0, 64), 1, 64, shifted};
  MPI_Type_create_hindexed(1, &one, &negative, MPI_INT, &inner);
  layouts[5] = (Layout){resized(inner, -kBelow, 48), 1, 48, below};
}

static inline void free_layouts(void) {
  for (int i = 1; i < kLayouts; ++i) MPI_Type_free(&layouts[i].type);
}
