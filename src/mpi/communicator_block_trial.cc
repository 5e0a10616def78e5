// Whether MPI_Alltoallv and MPI_Alltoallw are faster our way or the MPI library's own (trial.h).
// What ranks have to send is known to all only as far as they tell each other (counts.h): a trial
// is for the size class of what the fullest of them carries, as last agreed on.
#include <fmt/format.h>

#include <bit>
#include <string>
#include <vector>

#include "mpi/communicator.h"

namespace alm::mpi {
namespace {

constexpr std::size_t kNative = 1;  // Trial()

std::vector<std::uint64_t> sizes_of(std::span<const TypedBuffer> blocks) {
  std::vector<std::uint64_t> sizes;
  for (const TypedBuffer& block : blocks) sizes.push_back(block.bytes());
  return sizes;
}

std::string time_text(base::Nanos time) {
  if (time == 0) return "not tried";
  return fmt::format("{:.3g} ms", static_cast<double>(time) / base::kMillisecond);
}

}  // namespace

bool Communicator::blocks_on_trial() const {
  return on_trial() && job_.has_native && mode_ == Mode::kUdp && counts_ && !node_;
}

int Communicator::try_out_blocks(const BlockCall& call) {
  const base::Nanos begin = io::monotonic_now();
  const auto ours = [this](std::uint64_t load) {
    const auto found = block_trials_.find(static_cast<int>(std::bit_width(load)));
    return found == block_trials_.end() || found->second.way() != kNative;
  };
  const auto known = counts_->prepare(sizes_of(call.send), sizes_of(call.recv), ours);
  if (!known) return fail(call.name, known.error());
  const auto size_class = static_cast<int>(std::bit_width(counts_->load()));
  Trial& trial = block_trials_.try_emplace(size_class, counts_->least_time()).first->second;
  const bool native = trial.way() == kNative;
  const int code = native ? call.native() : accelerate_blocks(call);
  if (native) job_.stats.update([](StatsRecord& stats) { ++stats.native; });
  if (code != kMpiSuccess) return code;
  trial.took(io::monotonic_now() - begin);
  const bool decided = trial.decided();
  if (!trial.due() || !agree(trial) || decided || !trial.decided()) return code;
  if (self_ == 0 && job_.log.shows(LogLevel::kInfo)) {
    job_.log.info(fmt::format(
        "{} on {} ranks, up to {} bytes at the fullest rank: {} by {}, {} by the MPI library: {} "
        "from here on{}",
        call.name, ranks_, (std::uint64_t{1} << size_class) - 1, time_text(trial.time(0)),
        way_text(Way{}), time_text(trial.time(kNative)),
        trial.way() == kNative ? "the latter" : "the former",
        trial.at_limit() ? ", as fast as the links allow" : ""));
  }
  return code;
}

}  // namespace alm::mpi
