#include "mpi/agreed_load.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "mpi/counts.h"

namespace alm::mpi {
namespace {

constexpr auto kLargestWord = std::numeric_limits<std::uint64_t>::max();
// Comparing takes a good part of an exchange smaller than this.
constexpr std::uint64_t kSmall = 64 << 10;
constexpr std::uint64_t kLarge = 1 << 20;  // of one as large as this, next to nothing
constexpr std::uint32_t kSmallDoublings = 6;
constexpr std::uint32_t kDoublings = 3;

}  // namespace

void AgreedLoad::prepare(MpiOps& ops, CommHandle comm, std::span<const std::uint64_t> send,
                         std::span<const std::uint64_t> recv, std::uint32_t self,
                         base::Nanos limit) {
  if (wait_ > 0) {
    --wait_;
    return;
  }
  std::array<std::uint64_t, 2> words = {kLargestWord - Counts::load_of(send, recv, self),
                                        kLargestWord - static_cast<std::uint64_t>(limit)};
  if (ops.allreduce_min(comm, words) != kMpiSuccess) return;
  const std::uint64_t load = std::max<std::uint64_t>(kLargestWord - words[0], 1);
  const bool news = std::bit_width(load) != std::bit_width(bytes_);
  bytes_ = load;
  limit_ = static_cast<base::Nanos>(kLargestWord - words[1]);
  without_news_ = news ? 0 : without_news_ + 1;
  const std::uint32_t doublings = load < kSmall ? kSmallDoublings : kDoublings;
  wait_ = load >= kLarge ? 0 : (std::uint64_t{1} << std::min(without_news_, doublings)) - 1;
}

}  // namespace alm::mpi
