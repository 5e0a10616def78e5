#include "node/node_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <type_traits>

namespace alm::node {
namespace {

constexpr std::uint64_t kMagic = 0x65'646f'6e2d'6d6c'61;
constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kSlabs = 4;  // two to send and two to receive

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

std::uint64_t header_words(const NodeShape& shape) {
  return shape.hosts + std::uint64_t{shape.here} * shape.ranks;
}

base::Error failure(const std::string& what) {
  return base::io_error(fmt::format("{}: {}", what, std::strerror(errno)));
}

struct flock byte_lock(short type, std::uint32_t place) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = place;
  lock.l_len = 1;
  return lock;
}

// The letter after the name in parentheses (proc(5)); the name may hold anything. 0: cannot tell.
char state_letter(pid_t pid) {
  const std::string path = fmt::format("/proc/{}/stat", pid);
  std::FILE* file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return 0;
  char text[512];
  const std::size_t length = std::fread(text, 1, sizeof text - 1, file);
  std::fclose(file);
  text[length] = '\0';
  const char* end = std::strrchr(text, ')');
  return end != nullptr && end[1] == ' ' ? end[2] : '\0';
}

}  // namespace

NodeMemory::NodeMemory(const NodeShape& shape, std::uint32_t place) : shape_(shape), place_(place) {
  slots_at_ = round_up(sizeof(SharedHead), kCacheLine);
  sizes_at_ = slots_at_ + shape.here * sizeof(SharedSlot);
  headers_at_ = sizes_at_ + 4 * sizeof(std::uint64_t) * shape.here * shape.ranks;
  slabs_at_ = round_up(headers_at_ + 2 * sizeof(std::uint64_t) * header_words(shape), kPage);
  shape_.slab_bytes = round_up(shape.slab_bytes, kPage);
  bytes_ = slabs_at_ + kSlabs * shape_.slab_bytes;
}

NodeMemory::~NodeMemory() {
  if (base_ != nullptr) ::munmap(base_, bytes_);
  if (file_ >= 0) ::close(file_);
}

base::Result<std::unique_ptr<NodeMemory>> NodeMemory::create(const NodeShape& shape,
                                                             const transport::Key& nonce) {
  std::unique_ptr<NodeMemory> made(new NodeMemory(shape, 0));
  const int file = ::memfd_create("allemande", MFD_CLOEXEC);
  if (file < 0) return failure("memfd_create");
  made->file_ = file;
  if (::ftruncate(file, static_cast<off_t>(made->bytes_)) != 0) {
    return failure(fmt::format("{} MiB of shared memory", made->bytes_ >> 20));
  }
  if (auto mapped = made->map(file); !mapped) return mapped.error();
  auto* head = new (made->base_) SharedHead{};
  for (std::uint32_t place = 0; place < shape.here; ++place) {
    new (&made->slot(place)) SharedSlot{};
  }
  head->nonce = nonce;
  head->lost = kNobody;
  head->magic = kMagic;
  if (auto locked = made->lock(); !locked) return locked.error();
  return made;
}

base::Result<std::unique_ptr<NodeMemory>> NodeMemory::attach(const NodeShape& shape,
                                                             const transport::Key& nonce,
                                                             pid_t leader, int file,
                                                             std::uint32_t place) {
  std::unique_ptr<NodeMemory> made(new NodeMemory(shape, place));
  const std::string path = fmt::format("/proc/{}/fd/{}", leader, file);
  const int own = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (own < 0) return failure(path);
  made->file_ = own;
  struct stat status {};
  if (::fstat(own, &status) != 0 || static_cast<std::uint64_t>(status.st_size) != made->bytes_) {
    return base::io_error(path + " is not the memory of the rank that leads on this host");
  }
  if (auto mapped = made->map(own); !mapped) return mapped.error();
  if (made->head().magic != kMagic || made->head().nonce != nonce) {
    return base::io_error(path + " is not the memory of the rank that leads on this host");
  }
  if (auto locked = made->lock(); !locked) return locked.error();
  return made;
}

base::Status NodeMemory::map(int file) {
  void* mapped = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED) return failure("mmap of the shared memory");
  base_ = static_cast<std::byte*>(mapped);
  return {};
}

base::Status NodeMemory::lock() const {
  auto lock = byte_lock(F_WRLCK, place_);
  if (::fcntl(file_, F_SETLK, &lock) != 0) return failure("a lock in the shared memory");
  return {};
}

SharedSlot& NodeMemory::slot(std::uint32_t place) const {
  return reinterpret_cast<SharedSlot*>(base_ + slots_at_)[place];
}

std::span<std::uint64_t> NodeMemory::sizes(std::uint64_t call, bool send,
                                           std::uint32_t place) const {
  const std::uint64_t table = 2 * (call % 2) + (send ? 0 : 1);
  auto* words = reinterpret_cast<std::uint64_t*>(base_ + sizes_at_);
  return {words + (table * shape_.here + place) * shape_.ranks, shape_.ranks};
}

std::span<std::uint64_t> NodeMemory::headers(bool send) const {
  const std::uint64_t words = header_words(shape_);
  return {reinterpret_cast<std::uint64_t*>(base_ + headers_at_) + (send ? 0 : words), words};
}

std::byte* NodeMemory::slab(std::uint64_t step, bool send) const {
  return base_ + slabs_at_ + (2 * (step % 2) + (send ? 0 : 1)) * shape_.slab_bytes;
}

NodeMemory::Life NodeMemory::life_of(std::uint32_t place) const {
  auto lock = byte_lock(F_WRLCK, place);
  if (place == place_ || ::fcntl(file_, F_GETLK, &lock) != 0) return Life::kAlive;
  if (lock.l_type == F_UNLCK) return Life::kGone;
  // 0: in another PID namespace.
  const char state = lock.l_pid > 0 ? state_letter(lock.l_pid) : '\0';
  return state == 'T' || state == 't' ? Life::kStopped : Life::kAlive;
}

}  // namespace alm::node
