#include "emulate/counters.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <new>

namespace alm::emulate {

base::Result<std::unique_ptr<CountersFile>> CountersFile::make(const std::string& path,
                                                               std::uint32_t ports) {
  std::unique_ptr<CountersFile> out(new CountersFile);
  out->bytes_ = sizeof(CountersHeader) + std::size_t{ports} * sizeof(PortCounters);
  constexpr mode_t kMode = 0600;
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, kMode);
  void* mapped = MAP_FAILED;
  if (file >= 0 && ::ftruncate(file, static_cast<off_t>(out->bytes_)) == 0) {
    mapped = ::mmap(nullptr, out->bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  const int reason = errno;
  if (file >= 0) ::close(file);
  if (mapped == MAP_FAILED) {
    return base::io_error(fmt::format("{}: cannot be made: {}", path, std::strerror(reason)));
  }
  out->header_ = new (mapped) CountersHeader;
  out->header_->ports = ports;
  out->ports_ = reinterpret_cast<PortCounters*>(out->header_ + 1);
  return out;
}

CountersFile::~CountersFile() {
  if (header_ != nullptr) ::munmap(header_, bytes_);
}

void CountersFile::begin() {
  std::atomic_ref(header_->sequence).fetch_add(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
}

void CountersFile::end() {
  std::atomic_ref(header_->sequence).fetch_add(1, std::memory_order_release);
}

}  // namespace alm::emulate
