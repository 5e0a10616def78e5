// Whether an address lies in GPU memory, which the CPU may not be able to read. It asks the GPU
// runtimes that the program has loaded; it loads and links none itself.
#pragma once

#include <mutex>
#include <string_view>

namespace alm::session {

class DeviceMemory {
 public:
  // Whether this process may ever see such addresses: a runtime is loaded, or the driver it needs
  // is there. `option` is the value of device_memory.
  static bool may_occur(std::string_view option);

  // False where no runtime is loaded, or none knows the address.
  bool contains(const void* address);

 private:
  void look_for_runtimes();

  std::mutex mutex_;
  unsigned long long objects_loaded_ = 0;  // by the process, when last looked at
  void* cuda_ = nullptr;                   // cuPointerGetAttribute
  void* hip_ = nullptr;                    // hipPointerGetAttributes
};

}  // namespace alm::session
