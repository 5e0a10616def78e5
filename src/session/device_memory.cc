#include "session/device_memory.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace alm::session {
namespace {

constexpr std::array<const char*, 1> kCudaLibraries{"libcuda.so.1"};
constexpr std::array<const char*, 4> kHipLibraries{"libamdhip64.so.7", "libamdhip64.so.6",
                                                   "libamdhip64.so.5", "libamdhip64.so"};

// Without these CUDA and HIP find no GPU. A program may load their runtimes after MPI_Init, those
// linked statically included.
constexpr std::array<const char*, 2> kDrivers{"/dev/nvidiactl", "/dev/kfd"};

// From cuda.h.
using CuPointerGetAttribute = int(void* data, int attribute, unsigned long long address);
constexpr int kMemoryType = 2;  // CU_POINTER_ATTRIBUTE_MEMORY_TYPE
constexpr unsigned kHost = 1;   // CU_MEMORYTYPE_HOST: pinned memory of the host

// hipPointerAttribute_t begins like this in all releases; the values of its first member do not
// mean the same in all. The rest is room for what may follow.
struct HipAttributes {
  int type = 0;
  int device = 0;
  void* device_address = nullptr;
  void* host_address = nullptr;
  int managed = 0;
  unsigned flags = 0;
  std::array<std::uint64_t, 16> room{};
};
static_assert(offsetof(HipAttributes, host_address) == 16);
using HipPointerGetAttributes = int(HipAttributes* attributes, const void* address);

int count_objects(dl_phdr_info* object, std::size_t, void* count) {
  *static_cast<unsigned long long*>(count) = object->dlpi_adds;
  return 1;
}

template <std::size_t count>
void* find(const std::array<const char*, count>& libraries, const char* function) {
  for (const char* library : libraries) {
    void* const handle = dlopen(library, RTLD_NOLOAD | RTLD_LAZY);
    if (handle == nullptr) continue;
    // Kept open: the function is to stay.
    if (void* const found = dlsym(handle, function)) return found;
  }
  return nullptr;
}

void* find_cuda() { return find(kCudaLibraries, "cuPointerGetAttribute"); }
void* find_hip() { return find(kHipLibraries, "hipPointerGetAttributes"); }

}  // namespace

bool DeviceMemory::may_occur(std::string_view option) {
  if (option != "auto") return option == "on";
  for (const char* driver : kDrivers) {
    if (access(driver, F_OK) == 0) return true;
  }
  return find_cuda() != nullptr || find_hip() != nullptr;
}

void DeviceMemory::look_for_runtimes() {
  unsigned long long objects = 0;
  dl_iterate_phdr(count_objects, &objects);
  if (objects == objects_loaded_) return;
  objects_loaded_ = objects;
  if (cuda_ == nullptr) cuda_ = find_cuda();
  if (hip_ == nullptr) hip_ = find_hip();
}

bool DeviceMemory::contains(const void* address) {
  if (address == nullptr) return false;
  const std::lock_guard lock(mutex_);
  look_for_runtimes();
  if (cuda_ != nullptr) {
    unsigned type = 0;
    const auto get = reinterpret_cast<CuPointerGetAttribute*>(cuda_);
    // Fails for memory it has not allocated. Managed memory counts as the device's: it may be
    // there.
    if (get(&type, kMemoryType, reinterpret_cast<std::uintptr_t>(address)) == 0 && type > kHost) {
      return true;
    }
  }
  if (hip_ != nullptr) {
    HipAttributes found;
    const auto get = reinterpret_cast<HipPointerGetAttributes*>(hip_);
    if (get(&found, address) == 0 && found.device_address != nullptr &&
        (found.host_address == nullptr || found.managed != 0)) {
      return true;
    }
  }
  return false;
}

}  // namespace alm::session
