#include "courier/block_staging.h"

#include <algorithm>
#include <functional>

namespace alm::courier {

// The user's memory where blocks are contiguous (and `all` are not to be copied), a place in the
// store elsewhere. The own block stays where it is: copy_own sees to it.
void BlockStaging::Side::choose(job::Bootstrap& bootstrap, std::span<const job::TypedBuffer> blocks,
                                std::uint32_t self, bool all) {
  block.assign(blocks.size(), nullptr);
  size.resize(blocks.size());
  copied.assign(blocks.size(), false);
  std::uint64_t stored = 0;
  job::TypeHandle known = 0;  // the type asked about last: neighbours mostly have the same
  bool known_contiguous = false;
  bool any_known = false;
  for (std::size_t rank = 0; rank < blocks.size(); ++rank) {
    const job::TypedBuffer& buffer = blocks[rank];
    size[rank] = buffer.bytes();
    if (size[rank] == 0 || rank == self) continue;
    if (!any_known || buffer.type != known) {
      known = buffer.type;
      known_contiguous = bootstrap.is_contiguous(buffer);
      any_known = true;
    }
    copied[rank] = all || !known_contiguous;
    if (copied[rank]) {
      stored += size[rank];
    } else {
      block[rank] = static_cast<std::byte*>(buffer.base);
    }
  }
  std::byte* free = stored > 0 ? store.reserve(stored) : nullptr;
  for (std::size_t rank = 0; rank < blocks.size(); ++rank) {
    if (!copied[rank]) continue;
    block[rank] = free;
    free += size[rank];
  }
}

void BlockStaging::Side::measure() {
  lowest = nullptr;
  for (std::byte* begin : block) {
    if (begin != nullptr && (lowest == nullptr || std::less<>{}(begin, lowest))) lowest = begin;
  }
  at.resize(block.size());
  std::transform(block.begin(), block.end(), at.begin(), [this](const std::byte* begin) {
    return begin == nullptr ? 0 : static_cast<std::uint64_t>(begin - lowest);
  });
}

int BlockStaging::begin(job::Bootstrap& bootstrap, const BlockCall& call, std::uint32_t self) {
  recv_.choose(bootstrap, call.recv, self, false);
  // In place, what arrives overwrites what is still to be sent: a copy goes out.
  send_.choose(bootstrap, call.send, self, call.in_place);
  recv_.measure();
  send_.measure();
  for (std::size_t rank = 0; rank < call.send.size(); ++rank) {
    if (!send_.copied[rank]) continue;
    const int code = bootstrap.pack(call.send[rank], 1, send_.block[rank]);
    if (code != job::kMpiSuccess) return code;
  }
  return call.in_place ? job::kMpiSuccess : copy_own(bootstrap, call, self);
}

int BlockStaging::copy_own(job::Bootstrap& bootstrap, const BlockCall& call, std::uint32_t self) {
  // Unequal sizes are found by the exchange, as between any two ranks.
  if (send_.size[self] != recv_.size[self] || send_.size[self] == 0) return job::kMpiSuccess;
  std::byte* bytes = own_.reserve(send_.size[self]);
  if (const int code = bootstrap.pack(call.send[self], 1, bytes); code != job::kMpiSuccess)
    return code;
  return bootstrap.unpack(bytes, 1, call.recv[self]);
}

int BlockStaging::finish(job::Bootstrap& bootstrap, const BlockCall& call, std::uint32_t self) {
  for (std::size_t rank = 0; rank < call.recv.size(); ++rank) {
    if (rank == self || !recv_.copied[rank]) continue;
    const int code = bootstrap.unpack(recv_.block[rank], 1, call.recv[rank]);
    if (code != job::kMpiSuccess) return code;
  }
  return job::kMpiSuccess;
}

void BlockStaging::release() {
  send_.store.release();
  recv_.store.release();
  own_.release();
}

}  // namespace alm::courier
