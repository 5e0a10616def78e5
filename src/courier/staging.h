// Turns the arguments of an MPI_Alltoall into two buffers of plain bytes, one block per rank: the
// user's own memory where its layout allows, else a packed copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/byte_store.h"
#include "base/result.h"
#include "courier/calls.h"

namespace alm::courier {

// What an MPI error code says of the packing.
base::Status packed(int code);

class Staging {
 public:
  // Afterwards send() and recv() point at `ranks` blocks of call.bytes() each. Returns an MPI error
  // code.
  [[nodiscard]] int begin(job::Bootstrap& bootstrap, const AlltoallCall& call, std::uint32_t ranks,
                          std::uint32_t self);
  // The same, with an error where this rank sends blocks of one size and expects another.
  base::Status begin_even(job::Bootstrap& bootstrap, const AlltoallCall& call, std::uint32_t ranks,
                          std::uint32_t self);
  // Unpacks what has come into the user's buffer, if it is in a copy. Returns an MPI error code.
  [[nodiscard]] int finish(job::Bootstrap& bootstrap, const AlltoallCall& call,
                           std::uint32_t ranks);
  void release();

  const std::byte* send() const { return send_; }
  std::byte* recv() const { return recv_; }

 private:
  base::ByteStore send_store_, recv_store_;
  const std::byte* send_ = nullptr;
  std::byte* recv_ = nullptr;
  bool unpack_ = false;
};

}  // namespace alm::courier
