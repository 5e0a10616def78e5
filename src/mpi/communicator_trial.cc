// Whether a communicator's MPI_Alltoall is faster our way or the MPI library's own (trial.h).
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "mpi/communicator.h"

namespace alm::mpi {
namespace {

double milliseconds(base::Nanos time) { return static_cast<double>(time) / 1e6; }

}  // namespace

// Who names an algorithm gets it.
bool Communicator::on_trial() const {
  return job_.options.trials && job_.options.algorithm == kAutomatic;
}

int Communicator::try_out(const AlltoallCall& call) {
  Trial& trial = trials_[static_cast<int>(std::bit_width(call.bytes()))];
  const Way way = trial.way();
  const base::Nanos begin = io::monotonic_now();
  const int code = way == Way::kOurs ? accelerate(call) : call.native();
  if (way == Way::kNative) job_.stats.update([](StatsRecord& stats) { ++stats.native; });
  if (code != kMpiSuccess) return code;
  trial.took(io::monotonic_now() - begin);
  if (trial.due()) agree(trial, call.bytes());
  return code;
}

void Communicator::agree(Trial& trial, std::uint64_t bytes) {
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
  const bool decided = trial.decided();
  std::vector<base::Nanos> slowest;
  for (const base::Nanos time : trial.times()) {
    auto complement = kMost - static_cast<std::uint64_t>(time);
    if (job_.ops.allreduce_min(comm_, complement) != kMpiSuccess) return;
    slowest.push_back(static_cast<base::Nanos>(kMost - complement));
  }
  trial.agree(slowest);
  if (self_ != 0 || decided == trial.decided()) return;
  if (decided) {
    job_.log.info(fmt::format("{}{:.3g} ms now; tried anew", size_class_text(bytes),
                              milliseconds(slowest.front())));
    return;
  }
  const bool ours = trial.way() == Way::kOurs;
  job_.log.info(fmt::format("{}{:.3g} ms by {}, {:.3g} ms by the MPI library: {} from here on",
                            size_class_text(bytes), milliseconds(trial.best(Way::kOurs)),
                            way_text(grid_for(bytes)), milliseconds(trial.best(Way::kNative)),
                            ours ? "the former" : "the latter"));
}

}  // namespace alm::mpi
