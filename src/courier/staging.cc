#include "courier/staging.h"

#include <fmt/format.h>

#include <cstring>

namespace alm::courier {

base::Status packed(int code) {
  if (code == job::kMpiSuccess) return {};
  return base::io_error(fmt::format("what it sends cannot be packed: MPI error {}", code));
}

base::Status Staging::begin_even(job::Bootstrap& bootstrap, const AlltoallCall& call,
                                 std::uint32_t ranks, std::uint32_t self) {
  // Equal on correct programs.
  if (call.recv.bytes() != call.bytes()) {
    return base::bad_input(fmt::format("it sends {} bytes to each rank but receives {}",
                                       call.bytes(), call.recv.bytes()));
  }
  return packed(begin(bootstrap, call, ranks, self));
}

int Staging::begin(job::Bootstrap& bootstrap, const AlltoallCall& call, std::uint32_t ranks,
                   std::uint32_t self) {
  const std::size_t block = call.bytes();
  const bool recv_contiguous = bootstrap.is_contiguous(call.recv);
  unpack_ = !recv_contiguous;
  recv_ = recv_contiguous ? static_cast<std::byte*>(call.recv.base)
                          : recv_store_.reserve(block * ranks);

  // In place, what arrives overwrites what is still to be sent: a copy goes out.
  const job::TypedBuffer& source = call.in_place ? call.recv : call.send;
  const bool source_contiguous =
      call.in_place ? recv_contiguous : bootstrap.is_contiguous(call.send);
  if (source_contiguous && !call.in_place) {
    send_ = static_cast<const std::byte*>(source.base);
  } else {
    std::byte* copy = send_store_.reserve(block * ranks);
    send_ = copy;
    if (source_contiguous) {
      std::memcpy(copy, source.base, block * ranks);
    } else if (const int code = bootstrap.pack(source, ranks, copy); code != job::kMpiSuccess) {
      return code;
    }
  }
  const std::size_t own = block * self;
  if (recv_ + own != send_ + own) std::memcpy(recv_ + own, send_ + own, block);
  return job::kMpiSuccess;
}

int Staging::finish(job::Bootstrap& bootstrap, const AlltoallCall& call, std::uint32_t ranks) {
  return unpack_ ? bootstrap.unpack(recv_, ranks, call.recv) : job::kMpiSuccess;
}

void Staging::release() {
  send_store_.release();
  recv_store_.release();
}

}  // namespace alm::courier
