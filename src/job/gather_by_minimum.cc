#include "job/gather_by_minimum.h"

#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace alm::job {

int gather_by_minimum(Bootstrap& bootstrap, CommHandle comm, std::size_t self,
                      std::span<const std::byte> bytes, std::span<std::byte> all) {
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  if (bytes.empty()) return kMpiSuccess;
  const std::size_t words = (bytes.size() + kWord - 1) / kWord;
  const std::size_t ranks = all.size() / bytes.size();
  std::vector<std::uint64_t> of_all(ranks * words, std::numeric_limits<std::uint64_t>::max());
  const auto at = [&](std::size_t rank) { return of_all.data() + rank * words; };
  std::memcpy(at(self), bytes.data(), bytes.size());
  if (const int code = bootstrap.allreduce_min(comm, of_all); code != kMpiSuccess) return code;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    std::memcpy(all.data() + rank * bytes.size(), at(rank), bytes.size());
  }
  return kMpiSuccess;
}

}  // namespace alm::job
