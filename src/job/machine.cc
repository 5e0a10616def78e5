#include "job/machine.h"

#include <sys/stat.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <string>

#include "base/text_file.h"

namespace alm::job {
namespace {

// A namespace is told by the file that stands for it (namespaces(7)); empty: cannot be told.
std::string namespace_of(const char* path) {
  struct stat file {};
  if (::stat(path, &file) != 0) return {};
  return std::to_string(file.st_dev) + ":" + std::to_string(file.st_ino) + "\n";
}

}  // namespace

std::uint32_t this_machine() {
  constexpr std::size_t kBootIdBytesMax = 128;
  const auto boot =
      base::read_text("/proc/sys/kernel/random/boot_id", kBootIdBytesMax, "the id of this boot");
  const std::string network = namespace_of("/proc/self/ns/net");
  const std::string processes = namespace_of("/proc/self/ns/pid");
  if (!boot || boot.value().empty() || network.empty() || processes.empty()) return 0;
  const std::string all = boot.value() + network + processes;
  return std::max(1u, static_cast<std::uint32_t>(XXH3_64bits(all.data(), all.size())));
}

}  // namespace alm::job
