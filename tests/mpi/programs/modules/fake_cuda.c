// Stands for libcuda.so.1: knows one range of device memory.
#include <stddef.h>
#include <stdint.h>

static uintptr_t begin, end;

void fake_cuda_mark(void* at, size_t bytes) {
  begin = (uintptr_t)at;
  end = begin + bytes;
}

int cuPointerGetAttribute(void* data, int attribute, unsigned long long address) {
  enum { kInvalidValue = 1, kMemoryType = 2, kDevice = 2 };
  if (attribute != kMemoryType || address < begin || address >= end) return kInvalidValue;
  *(unsigned*)data = kDevice;
  return 0;
}
