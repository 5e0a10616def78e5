#include "mpi/abi/large_counts.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "mpi/abi/words.h"

namespace alm::mpi::large_counts {
namespace {

using entry::Word;

bool fits(std::int64_t value) {
  return value >= std::numeric_limits<int>::min() && value <= std::numeric_limits<int>::max();
}

int refuse(const messages::MpiApi& api, Word comm) {
  with_words<int(Word, int)>(api.Comm_call_errhandler)(comm, MPI_ERR_COUNT);
  return MPI_ERR_COUNT;
}

// How many blocks a call on `comm` has; 0 for a communicator the library must report itself.
std::size_t blocks_of(const messages::MpiApi& api, Word comm) {
  int inter = 0;
  int blocks = 0;
  if (with_words<int(Word, int*)>(api.Comm_test_inter)(comm, &inter) != MPI_SUCCESS) return 0;
  auto* const size = inter != 0 ? api.Comm_remote_size : api.Comm_size;
  with_words<int(Word, int*)>(size)(comm, &blocks);
  return static_cast<std::size_t>(blocks);
}

// An array that stays null if it was: in place, nothing is said about what is sent.
class Narrowed {
 public:
  Narrowed(const std::int64_t* wide, std::size_t size) : missing_(wide == nullptr) {
    if (missing_) return;
    fits_ = std::all_of(wide, wide + size, fits);
    if (fits_) narrow_.assign(wide, wide + size);
  }
  bool fit() const { return fits_; }
  const int* data() const { return missing_ ? nullptr : narrow_.data(); }

 private:
  bool missing_;
  bool fits_ = true;
  std::vector<int> narrow_;
};

template <class Form, class Types>
int call_blocks(const messages::MpiApi& api, Form* real, const void* send,
                const std::int64_t* send_counts, const std::int64_t* send_at, Types send_types,
                void* recv, const std::int64_t* recv_counts, const std::int64_t* recv_at,
                Types recv_types, Word comm) {
  const std::size_t blocks = blocks_of(api, comm);
  const bool in_place = send == MPI_IN_PLACE;
  const Narrowed counts_out(in_place ? nullptr : send_counts, blocks);
  const Narrowed at_out(in_place ? nullptr : send_at, blocks);
  const Narrowed counts_in(recv_counts, blocks);
  const Narrowed at_in(recv_at, blocks);
  if (!counts_out.fit() || !at_out.fit() || !counts_in.fit() || !at_in.fit()) {
    return refuse(api, comm);
  }
  return real(send, counts_out.data(), at_out.data(), send_types, recv, counts_in.data(),
              at_in.data(), recv_types, comm);
}

}  // namespace

int alltoall(const messages::MpiApi& api, const void* send, std::int64_t send_count, Word send_type,
             void* recv, std::int64_t recv_count, Word recv_type, Word comm) {
  if (!fits(recv_count) || (send != MPI_IN_PLACE && !fits(send_count))) return refuse(api, comm);
  return with_words<entry::Alltoall<int>>(api.Alltoall)(
      send, static_cast<int>(send_count), send_type, recv, static_cast<int>(recv_count), recv_type,
      comm);
}

int alltoallv(const messages::MpiApi& api, const void* send, const std::int64_t* send_counts,
              const std::int64_t* send_at, Word send_type, void* recv,
              const std::int64_t* recv_counts, const std::int64_t* recv_at, Word recv_type,
              Word comm) {
  return call_blocks(api, with_words<entry::Alltoallv<int>>(api.Alltoallv), send, send_counts,
                     send_at, send_type, recv, recv_counts, recv_at, recv_type, comm);
}

int alltoallw(const messages::MpiApi& api, const void* send, const std::int64_t* send_counts,
              const std::int64_t* send_at, const void* send_types, void* recv,
              const std::int64_t* recv_counts, const std::int64_t* recv_at, const void* recv_types,
              Word comm) {
  return call_blocks(api, with_words<entry::Alltoallw<int>>(api.Alltoallw), send, send_counts,
                     send_at, send_types, recv, recv_counts, recv_at, recv_types, comm);
}

}  // namespace alm::mpi::large_counts
