#include "mpi/abi/large_counts.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "mpi/abi/handle.h"
#include "mpi/abi/neighbours.h"
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

std::optional<Degrees> degrees_of_call(const messages::MpiApi& api,
                                       const entry::BlockArguments& given) {
  if (given.neighbours) return degrees_of(api, from_opaque<MPI_Comm>(given.comm));
  const std::size_t blocks = blocks_of(api, given.comm);
  return Degrees{blocks, blocks};
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
  const std::optional<Degrees> blocks = degrees_of_call(api, given);
  if (!blocks) return std::nullopt;
  entry::BlockArguments out = given;
  const auto narrow = [&](entry::Integers& integers, std::size_t size) {
    const auto* wide = integers.as<std::int64_t>();
    if (wide == nullptr) {
      integers = static_cast<const int*>(nullptr);
      return true;
    }
    if (!std::all_of(wide, wide + size, fits)) return false;
    integers = keep({wide, wide + size});
    return true;
  };
  // In place, nothing is said about what is sent.
  if (given.send.base == MPI_IN_PLACE) {
    out.send.counts = out.send.displacements = static_cast<const std::int64_t*>(nullptr);
  }
  const bool addresses = given.neighbours && given.typed;  // MPI_Aint at every width
  for (auto* side : {&out.send, &out.recv}) {
    const std::size_t size = side == &out.send ? blocks->out : blocks->in;
    if (!narrow(side->counts, size)) return std::nullopt;
    if (!addresses && !narrow(side->displacements, size)) return std::nullopt;
  }
  return out;
}

}  // namespace alm::mpi::large_counts
