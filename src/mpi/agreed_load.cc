#include "mpi/agreed_load.h"

#include <algorithm>
#include <array>
#include <bit>

#include "carrier/uneven_steps.h"

namespace alm::mpi {

void AgreedLoad::prepare(MpiOps& ops, CommHandle comm, std::span<const std::uint64_t> send,
                         std::span<const std::uint64_t> recv, std::uint32_t self,
                         base::Nanos limit) {
  if (wait_ > 0) {
    --wait_;
    return;
  }
  std::array<std::uint64_t, 2> words = {carrier::Counts::load_of(send, recv, self),
                                        static_cast<std::uint64_t>(limit)};
  if (ops.allreduce_max(comm, words) != kMpiSuccess) return;
  const std::uint64_t load = std::max<std::uint64_t>(words[0], 1);
  const bool news = std::bit_width(load) != std::bit_width(bytes_);
  bytes_ = load;
  limit_ = static_cast<base::Nanos>(words[1]);
  without_news_ = news ? 0 : without_news_ + 1;
  wait_ = carrier::Counts::calls_between(load, without_news_);
}

}  // namespace alm::mpi
