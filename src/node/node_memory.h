// The memory that the ranks of a communicator on one host share. It has no name: the host leader
// makes an anonymous file, and the others open it through /proc, so that nothing is left behind,
// however the processes end (docs/adr/0009-several-ranks-per-host.md). When all have it mapped,
// nobody keeps it open. Another file shows who is alive (liveness.h); this memory says where it is.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/result.h"
#include "node/liveness.h"
#include "transport/channel.h"

namespace alm::node {

// Every rank of the communicator computes the same shape.
struct NodeShape {
  std::uint32_t here = 0;        // ranks on this host
  std::uint32_t ranks = 0;       // of the communicator
  std::uint32_t hosts = 0;       // of the communicator
  std::uint64_t slab_bytes = 0;  // size of each of the four data buffers
};

constexpr std::size_t kFailureTextBytes = 480;
constexpr std::uint64_t kCacheLine = 64;

// A count that ranks wait for: they sleep on `event`, which changes when the count is reached.
struct alignas(kCacheLine) SharedGate {
  std::atomic<std::uint64_t> count[2];  // in even and in odd turns
  std::atomic<std::uint32_t> event;
  std::atomic<std::uint32_t> sleepers;  // or about to be; a rank that died over it stays counted
};

struct alignas(kCacheLine) SharedSlot {      // of one rank
  std::atomic<std::uint64_t> posted, taken;  // turns
  std::atomic<std::uint64_t> number;         // its process's byte in the liveness file
  std::atomic<std::uint64_t> kind, bytes;    // of the NodeCall it is in
  std::atomic<std::uint64_t> call;           // number of the program's call that it began last
  std::atomic<std::uint64_t> elsewhere;      // bytes it sends to each by other means in it, + 1
};

struct SharedHead {
  std::uint64_t magic;
  transport::Key nonce;
  std::int32_t liveness_file;  // descriptor of the host leader
  std::uint64_t liveness_inode;
  alignas(kCacheLine) SharedGate posted;
  SharedGate delivered;
  SharedGate taken;
  alignas(kCacheLine) std::atomic<std::uint32_t> failed;  // 0: no; 1: being written; 2: yes
  std::uint32_t lost;                                     // rank, or kNobody
  base::ErrorCode failure_code;
  std::array<char, kFailureTextBytes> failure;
  // For the running call, where sizes differ:
  std::uint64_t slabs;
  std::uint32_t leaders;  // that share its messages
  std::uint32_t differs;  // 1: some ranks do not agree on a size
};

class NodeMemory {
 public:
  static constexpr std::uint32_t kNobody = ~std::uint32_t{0};

  // This process, as other processes of its host see it: the files it has open, and a number that
  // is its own on the host (its rank in the job).
  struct Process {
    LivenessFiles& liveness;
    std::uint64_t number = 0;
  };

  // For the host leader, which has local rank 0. The others recognise the memory by `nonce`.
  static base::Result<std::unique_ptr<NodeMemory>> create(const NodeShape& shape,
                                                          const transport::Key& nonce,
                                                          const Process& self);
  // For the other ranks: maps descriptor `file` of process `host_leader`.
  static base::Result<std::unique_ptr<NodeMemory>> attach(const NodeShape& shape,
                                                          const transport::Key& nonce,
                                                          pid_t host_leader, int file,
                                                          std::uint32_t local_rank,
                                                          const Process& self);
  ~NodeMemory();
  NodeMemory(const NodeMemory&) = delete;
  NodeMemory& operator=(const NodeMemory&) = delete;

  // The host leader's descriptor, which the others open; -1 when closed.
  int file() const { return file_; }
  // Precondition: all ranks have it mapped.
  void close_file();
  std::uint32_t local_rank() const { return local_rank_; }
  const NodeShape& shape() const { return shape_; }

  SharedHead& head() const { return *reinterpret_cast<SharedHead*>(base_); }
  SharedSlot& slot(std::uint32_t local_rank) const;
  // The bytes that a rank sends to, or expects from, every rank, in call `call` or the one before.
  std::span<std::uint64_t> sizes(std::uint64_t call, bool send, std::uint32_t local_rank) const;
  // The sizes that this host tells all hosts, or is told by them: for each host a word and the
  // sizes.
  std::span<std::uint64_t> headers(bool send) const;
  std::byte* slab(std::uint64_t turn, bool send) const;

  Life life_of(std::uint32_t local_rank) const;

 private:
  NodeMemory(const NodeShape& shape, std::uint32_t local_rank);
  base::Status map(int file);

  NodeShape shape_;
  std::uint32_t local_rank_;
  int file_ = -1;
  std::shared_ptr<const LivenessFile> liveness_;
  std::byte* base_ = nullptr;
  std::uint64_t slots_at_ = 0, sizes_at_ = 0, headers_at_ = 0, slabs_at_ = 0, bytes_ = 0;
};

}  // namespace alm::node
