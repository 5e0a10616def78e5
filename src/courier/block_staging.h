// Turns the arguments of an MPI_Alltoallv or MPI_Alltoallw into blocks of plain bytes: each is the
// user's own memory where its layout allows, else a packed copy. Ranks may differ in which blocks
// they copy: that is visible to nobody else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/byte_store.h"
#include "courier/calls.h"
#include "transport/channel.h"

namespace alm::courier {

class BlockStaging {
 public:
  // Afterwards send() and recv() describe every block of the call. Returns an MPI error code.
  [[nodiscard]] int begin(job::Bootstrap& bootstrap, const BlockCall& call, std::uint32_t ranks,
                          std::uint32_t self);
  // Unpacks received blocks into the user's memory, where they are copies. Returns an MPI error
  // code.
  [[nodiscard]] int finish(job::Bootstrap& bootstrap, const BlockCall& call);
  void release();

  transport::ConstBlocks send() const { return {send_.lowest, 0, 0, send_.at, send_.size}; }
  transport::MutableBlocks recv() const { return {recv_.lowest, 0, 0, recv_.at, recv_.size}; }

 private:
  // The buffers of one side of a call, and whom each is for or from.
  struct Given {
    std::span<const job::TypedBuffer> buffers;
    std::span<const std::uint32_t> ranks;  // [buffer]; empty: its index

    std::uint32_t rank_of(std::size_t buffer) const {
      return ranks.empty() ? static_cast<std::uint32_t>(buffer) : ranks[buffer];
    }
  };

  // One side: where each block lies, as distances from the lowest of them.
  struct Side {
    std::vector<std::byte*> block;  // [rank]
    std::vector<std::uint64_t> at, size;
    std::vector<bool> copied;  // always where several buffers make up a block
    std::byte* lowest = nullptr;
    base::ByteStore store;

    // Ranks without buffers have empty blocks.
    void choose(job::Bootstrap& bootstrap, const Given& given, std::size_t ranks,
                std::uint32_t self, bool all);
    void measure();
    [[nodiscard]] int pack(job::Bootstrap& bootstrap, const Given& given) const;
    [[nodiscard]] int unpack(job::Bootstrap& bootstrap, const Given& given) const;
  };

  [[nodiscard]] int copy_own(job::Bootstrap& bootstrap, const BlockCall& call, std::uint32_t self);

  Side send_, recv_;
  base::ByteStore own_;
};

}  // namespace alm::courier
