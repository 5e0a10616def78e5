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

// How many blocks a call on `comm` has; 0 for a communicator the library must report itself.
std::size_t blocks_of(const messages::MpiApi& api, Word comm) {
  int inter = 0;
  int blocks = 0;
  if (with_words<int(Word, int*)>(api.Comm_test_inter)(comm, &inter) != MPI_SUCCESS) return 0;
  auto* const size = inter != 0 ? api.Comm_remote_size : api.Comm_size;
  with_words<int(Word, int*)>(size)(comm, &blocks);
  return static_cast<std::size_t>(blocks);
}

}  // namespace

int refuse(const messages::MpiApi& api, Word comm) {
  with_words<int(Word, int)>(api.Comm_call_errhandler)(comm, MPI_ERR_COUNT);
  return MPI_ERR_COUNT;
}

bool fit(const entry::Arguments& given) {
  return fits(given.recv.count) && (given.send.base == MPI_IN_PLACE || fits(given.send.count));
}

std::optional<entry::BlockArguments> narrowed(
    const messages::MpiApi& api, const entry::BlockArguments& given,
    const std::function<const int*(std::vector<int>)>& keep) {
  const std::size_t blocks = blocks_of(api, given.comm);
  entry::BlockArguments out = given;
  const auto narrow = [&](entry::Integers& integers) {
    const auto* wide = integers.as<std::int64_t>();
    if (wide == nullptr) {
      integers = static_cast<const int*>(nullptr);
      return true;
    }
    if (!std::all_of(wide, wide + blocks, fits)) return false;
    integers = keep({wide, wide + blocks});
    return true;
  };
  // In place, nothing is said about what is sent.
  if (given.send.base == MPI_IN_PLACE) {
    out.send.counts = out.send.displacements = static_cast<const std::int64_t*>(nullptr);
  }
  for (auto* side : {&out.send, &out.recv}) {
    if (!narrow(side->counts) || !narrow(side->displacements)) return std::nullopt;
  }
  return out;
}

}  // namespace alm::mpi::large_counts
