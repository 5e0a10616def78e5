#include "node/node_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

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

base::Error memory_failure(const std::string& what) {
  return base::io_error(fmt::format("{}: {}", what, std::strerror(errno)));
}

}  // namespace

NodeMemory::NodeMemory(const NodeShape& shape, std::uint32_t local_rank)
    : shape_(shape), local_rank_(local_rank) {
  slots_at_ = round_up(sizeof(SharedHead), kCacheLine);
  sizes_at_ = slots_at_ + shape.here * sizeof(SharedSlot);
  headers_at_ = sizes_at_ + 4 * sizeof(std::uint64_t) * shape.here * shape.ranks;
  slabs_at_ = round_up(headers_at_ + 2 * sizeof(std::uint64_t) * header_words(shape), kPage);
  shape_.slab_bytes = round_up(shape.slab_bytes, kPage);
  bytes_ = slabs_at_ + kSlabs * shape_.slab_bytes;
}

NodeMemory::~NodeMemory() {
  if (base_ != nullptr) ::munmap(base_, bytes_);
  close_file();
}

void NodeMemory::close_file() {
  if (file_ >= 0) ::close(file_);
  file_ = -1;
}

base::Result<std::unique_ptr<NodeMemory>> NodeMemory::create(const NodeShape& shape,
                                                             const transport::Key& nonce,
                                                             const Process& self) {
  std::unique_ptr<NodeMemory> made(new NodeMemory(shape, 0));
  auto liveness = self.liveness.own(self.number);
  if (!liveness) return liveness.error();
  made->liveness_ = std::move(liveness).value();
  const int file = ::memfd_create("allemande", MFD_CLOEXEC);
  if (file < 0) return memory_failure("memfd_create");
  made->file_ = file;
  if (::ftruncate(file, static_cast<off_t>(made->bytes_)) != 0) {
    return memory_failure(fmt::format("{} MiB of shared memory", made->bytes_ >> 20));
  }
  if (auto mapped = made->map(file); !mapped) return mapped.error();
  auto* head = new (made->base_) SharedHead{};
  for (std::uint32_t local_rank = 0; local_rank < shape.here; ++local_rank) {
    new (&made->slot(local_rank)) SharedSlot{};
  }
  head->nonce = nonce;
  head->lost = kNobody;
  head->liveness_file = made->liveness_->file();
  head->liveness_inode = made->liveness_->inode();
  head->magic = kMagic;
  made->slot(0).number = self.number;
  return made;
}

base::Result<std::unique_ptr<NodeMemory>> NodeMemory::attach(const NodeShape& shape,
                                                             const transport::Key& nonce,
                                                             pid_t host_leader, int file,
                                                             std::uint32_t local_rank,
                                                             const Process& self) {
  std::unique_ptr<NodeMemory> made(new NodeMemory(shape, local_rank));
  const std::string path = fmt::format("/proc/{}/fd/{}", host_leader, file);
  const int own = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (own < 0) return memory_failure(path);
  made->file_ = own;
  struct stat status {};
  if (::fstat(own, &status) != 0 || static_cast<std::uint64_t>(status.st_size) != made->bytes_) {
    return base::io_error(path + " is not the memory of the rank that leads on this host");
  }
  if (auto mapped = made->map(own); !mapped) return mapped.error();
  const SharedHead& head = made->head();
  if (head.magic != kMagic || head.nonce != nonce) {
    return base::io_error(path + " is not the memory of the rank that leads on this host");
  }
  auto liveness =
      self.liveness.of(host_leader, head.liveness_file, head.liveness_inode, self.number);
  if (!liveness) return liveness.error();
  made->liveness_ = std::move(liveness).value();
  made->slot(local_rank).number = self.number;
  return made;
}

base::Status NodeMemory::map(int file) {
  void* mapped = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED) return memory_failure("mmap of the shared memory");
  base_ = static_cast<std::byte*>(mapped);
  return {};
}

SharedSlot& NodeMemory::slot(std::uint32_t local_rank) const {
  return reinterpret_cast<SharedSlot*>(base_ + slots_at_)[local_rank];
}

std::span<std::uint64_t> NodeMemory::sizes(std::uint64_t call, bool send,
                                           std::uint32_t local_rank) const {
  const std::uint64_t table = 2 * (call % 2) + (send ? 0 : 1);
  auto* words = reinterpret_cast<std::uint64_t*>(base_ + sizes_at_);
  return {words + (table * shape_.here + local_rank) * shape_.ranks, shape_.ranks};
}

std::span<std::uint64_t> NodeMemory::headers(bool send) const {
  const std::uint64_t words = header_words(shape_);
  return {reinterpret_cast<std::uint64_t*>(base_ + headers_at_) + (send ? 0 : words), words};
}

std::byte* NodeMemory::slab(std::uint64_t turn, bool send) const {
  return base_ + slabs_at_ + (2 * (turn % 2) + (send ? 0 : 1)) * shape_.slab_bytes;
}

Life NodeMemory::life_of(std::uint32_t local_rank) const {
  if (local_rank == local_rank_) return Life::kAlive;
  return liveness_->life_of(slot(local_rank).number.load());
}

}  // namespace alm::node
