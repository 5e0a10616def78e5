#include "courier/block_staging.h"

#include <algorithm>
#include <functional>

namespace alm::courier {

// The user's memory where a block is one contiguous buffer (and `all` are not to be copied), a
// place in the store elsewhere. The own block stays where it is: copy_own sees to it.
void BlockStaging::Side::choose(job::Bootstrap& bootstrap, const Given& given, std::size_t ranks,
                                std::uint32_t self, bool all) {
  block.assign(ranks, nullptr);
  size.assign(ranks, 0);
  copied.assign(ranks, false);
  job::TypeHandle known = 0;  // the type asked about last: neighbours mostly have the same
  bool known_contiguous = false;
  bool any_known = false;
  for (std::size_t i = 0; i < given.buffers.size(); ++i) {
    const job::TypedBuffer& buffer = given.buffers[i];
    const std::uint32_t rank = given.rank_of(i);
    if (buffer.bytes() == 0) continue;
    const bool first = size[rank] == 0;
    size[rank] += buffer.bytes();
    if (rank == self) continue;
    if (!any_known || buffer.type != known) {
      known = buffer.type;
      known_contiguous = bootstrap.is_contiguous(buffer);
      any_known = true;
    }
    copied[rank] = all || !first || !known_contiguous || copied[rank];
    block[rank] = static_cast<std::byte*>(buffer.base);
  }
  std::uint64_t stored = 0;
  for (std::size_t rank = 0; rank < ranks; ++rank) stored += copied[rank] ? size[rank] : 0;
  std::byte* free = stored > 0 ? store.reserve(stored) : nullptr;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
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

// The buffers of a block lie in its copy one after the other.
int BlockStaging::Side::pack(job::Bootstrap& bootstrap, const Given& given) const {
  std::vector<std::byte*> next = block;
  for (std::size_t i = 0; i < given.buffers.size(); ++i) {
    const std::uint32_t rank = given.rank_of(i);
    const std::uint64_t bytes = given.buffers[i].bytes();
    if (bytes == 0 || !copied[rank]) continue;
    const int code = bootstrap.pack(given.buffers[i], 1, next[rank]);
    if (code != job::kMpiSuccess) return code;
    next[rank] += bytes;
  }
  return job::kMpiSuccess;
}

int BlockStaging::Side::unpack(job::Bootstrap& bootstrap, const Given& given) const {
  std::vector<std::byte*> next = block;
  for (std::size_t i = 0; i < given.buffers.size(); ++i) {
    const std::uint32_t rank = given.rank_of(i);
    const std::uint64_t bytes = given.buffers[i].bytes();
    if (bytes == 0 || !copied[rank]) continue;
    const int code = bootstrap.unpack(next[rank], 1, given.buffers[i]);
    if (code != job::kMpiSuccess) return code;
    next[rank] += bytes;
  }
  return job::kMpiSuccess;
}

int BlockStaging::begin(job::Bootstrap& bootstrap, const BlockCall& call, std::uint32_t ranks,
                        std::uint32_t self) {
  const Given sent{call.send, call.send_to};
  recv_.choose(bootstrap, {call.recv, call.recv_from}, ranks, self, false);
  // In place, what arrives overwrites what is still to be sent: a copy goes out.
  send_.choose(bootstrap, sent, ranks, self, call.in_place);
  recv_.measure();
  send_.measure();
  if (const int code = send_.pack(bootstrap, sent); code != job::kMpiSuccess) return code;
  return call.in_place ? job::kMpiSuccess : copy_own(bootstrap, call, self);
}

int BlockStaging::copy_own(job::Bootstrap& bootstrap, const BlockCall& call, std::uint32_t self) {
  // Unequal sizes are found by the exchange, as between any two ranks.
  if (send_.size[self] != recv_.size[self] || send_.size[self] == 0) return job::kMpiSuccess;
  std::byte* bytes = own_.reserve(send_.size[self]);
  const auto each_own = [&](const Given& given, const auto& copy) {
    std::byte* next = bytes;
    for (std::size_t i = 0; i < given.buffers.size(); ++i) {
      if (given.rank_of(i) != self || given.buffers[i].bytes() == 0) continue;
      if (const int code = copy(given.buffers[i], next); code != job::kMpiSuccess) return code;
      next += given.buffers[i].bytes();
    }
    return job::kMpiSuccess;
  };
  const int code = each_own({call.send, call.send_to}, [&](const auto& from, std::byte* to) {
    return bootstrap.pack(from, 1, to);
  });
  if (code != job::kMpiSuccess) return code;
  return each_own({call.recv, call.recv_from}, [&](const auto& to, const std::byte* from) {
    return bootstrap.unpack(from, 1, to);
  });
}

int BlockStaging::finish(job::Bootstrap& bootstrap, const BlockCall& call) {
  return recv_.unpack(bootstrap, {call.recv, call.recv_from});
}

void BlockStaging::release() {
  send_.store.release();
  recv_.store.release();
  own_.release();
}

}  // namespace alm::courier
