#include "courier/size_check.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <vector>

namespace alm::courier {
namespace {

// The outcomes of the ranks, of which the least counts: a rank could not compare, two ranks differ
// (their number is that of the pair), or all is well.
constexpr std::uint64_t kCannotCompare = 0;
constexpr std::uint64_t kFit = std::numeric_limits<std::uint64_t>::max();

}  // namespace

std::optional<SizesDiffer> compare_sizes(job::Bootstrap& bootstrap, job::CommHandle comm,
                                         const meeting::Members& members,
                                         std::span<const std::uint64_t> sends,
                                         std::span<const std::uint64_t> expects) {
  const std::uint64_t ranks = members.ranks;
  std::vector<std::uint64_t> sent(ranks);
  std::uint64_t outcome = kFit;
  if (bootstrap.alltoall(comm, sends, sent) != job::kMpiSuccess) {
    outcome = kCannotCompare;
  } else {
    for (std::uint64_t from = ranks; from-- > 0;) {
      if (sent[from] != expects[from]) outcome = members.self * ranks + from + 1;
    }
  }
  if (bootstrap.allreduce_min(comm, outcome) != job::kMpiSuccess) {
    return SizesDiffer{base::io_error("MPI_Allreduce of the sizes failed"), false};
  }
  if (outcome == kFit) return std::nullopt;
  if (outcome == kCannotCompare) {
    return SizesDiffer{base::io_error("MPI_Alltoall of the sizes failed on one of the ranks"),
                       true};
  }
  const auto to = static_cast<std::uint32_t>((outcome - 1) / ranks);
  const auto from = static_cast<std::uint32_t>((outcome - 1) % ranks);
  std::array<std::uint64_t, 2> sizes = {kFit, kFit};
  if (members.self == to) sizes = {sent[from], expects[from]};
  // Where this fails, the error is the same, but for the sizes in its text.
  if (bootstrap.allreduce_min(comm, sizes) != job::kMpiSuccess) {
    return SizesDiffer{
        base::bad_input(fmt::format("{} sends {} another number of bytes than it expects",
                                    members.name_of(from), members.name_of(to))),
        true};
  }
  return SizesDiffer{
      base::bad_input(fmt::format("{} sends {} bytes to {}, which expects {} bytes",
                                  members.name_of(from), sizes[0], members.name_of(to), sizes[1])),
      true};
}

}  // namespace alm::courier
