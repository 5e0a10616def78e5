// What a communicator needs in order to come up and to describe data, whoever provides it: an MPI
// library, or a program without MPI that brings an allgather. Handles are opaque, so that the code
// is compiled once and serves every MPI ABI. Return values are MPI error codes; 0 is success.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace alm::job {

using CommHandle = std::uintptr_t;
using TypeHandle = std::uintptr_t;

constexpr int kMpiSuccess = 0;

// One side of a collective's arguments: `count` elements of `type` for each rank.
struct TypedBuffer {
  void* base = nullptr;
  std::int64_t count = 0;
  TypeHandle type = 0;
  std::int64_t size = 0;    // bytes of data in one element
  std::int64_t extent = 0;  // bytes from one element to the next

  std::uint64_t bytes() const { return static_cast<std::uint64_t>(count * size); }
};

// So many buffers as this one, one after the other.
inline std::vector<TypedBuffer> in_a_row(const TypedBuffer& first, std::size_t count) {
  std::vector<TypedBuffer> all(count, first);
  for (std::size_t i = 0; i < count; ++i) {
    const auto at = i * static_cast<std::uintptr_t>(first.count * first.extent);
    all[i].base = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(first.base) + at);
  }
  return all;
}

class Bootstrap {
 public:
  virtual ~Bootstrap() = default;

  // Return codes may not be ignored: after a collective that fails on one rank alone, the ranks no
  // longer agree (safe_collectives.h).

  // Collective over `comm`. Every rank contributes bytes.size() bytes; `all` holds ranks times
  // that.
  [[nodiscard]] virtual int allgather(CommHandle comm, std::span<const std::byte> bytes,
                                      std::span<std::byte> all) = 0;
  // Sends one word to each rank and receives one from each.
  [[nodiscard]] virtual int alltoall(CommHandle comm, std::span<const std::uint64_t> out,
                                     std::span<std::uint64_t> in) = 0;
  // The minimum over all ranks, word by word.
  [[nodiscard]] virtual int allreduce_min(CommHandle comm, std::span<std::uint64_t> values) = 0;
  [[nodiscard]] int allreduce_min(CommHandle comm, std::uint64_t& value) {
    return allreduce_min(comm, std::span(&value, 1));
  }

  [[nodiscard]] int allreduce_max(CommHandle comm, std::span<std::uint64_t> values) {
    for (std::uint64_t& value : values) value = ~value;
    const int code = allreduce_min(comm, values);
    for (std::uint64_t& value : values) value = ~value;
    return code;
  }

  // Lets the traffic of the MPI library, or of the program, proceed; any thread, returns at once
  // (design section 5, Progress).
  virtual void progress() = 0;

  // True when the elements lie back to back in signature order: they can be sent from where they
  // are.
  virtual bool is_contiguous(const TypedBuffer& buffer) = 0;
  // Converts all blocks, `ranks` times `count` elements, to and from the plain byte stream of their
  // signature.
  [[nodiscard]] virtual int pack(const TypedBuffer& buffer, std::uint32_t ranks,
                                 std::byte* out) = 0;
  [[nodiscard]] virtual int unpack(const std::byte* in, std::uint32_t ranks,
                                   const TypedBuffer& buffer) = 0;

  // Raises an error with this text, with MPI through the communicator's error handler; returns its
  // code. Callers log the error before: where errors are fatal, the job ends here.
  [[nodiscard]] virtual int raise(CommHandle comm, const base::Error& error) = 0;
  // raise() for a code that a function above has returned.
  [[nodiscard]] virtual int raise_code(CommHandle comm, int code) = 0;
};

}  // namespace alm::job
