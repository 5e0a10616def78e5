// Whether MPI_Alltoallv and MPI_Alltoallw are faster our way or the MPI library's own (trial.h).
// What ranks have to send is known to all only as far as they tell each other (counts.h,
// agreed_load.h): a trial is for the size class of what the fullest of them carries, as last agreed
// on.
#include <algorithm>
#include <bit>
#include <vector>

#include "mpi/communicator.h"

namespace alm::mpi {
namespace {

std::vector<std::uint64_t> sizes_of(std::span<const TypedBuffer> blocks) {
  std::vector<std::uint64_t> sizes;
  for (const TypedBuffer& block : blocks) sizes.push_back(block.bytes());
  return sizes;
}

bool about_equal(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t kPart = 50;
  return std::max(a, b) - std::min(a, b) <= std::max(a, b) / kPart;
}

}  // namespace

bool Communicator::blocks_on_trial() const { return on_trial() && job_.has_native; }

// Every rank is a member of the group, so that counts told over UDP reach all.
bool Communicator::counts_tell() const { return mode_ == Mode::kUdp && counts_ && !node_; }

base::Status Communicator::prepare_blocks(const BlockCall& call) {
  const auto send = sizes_of(call.send);
  const auto recv = sizes_of(call.recv);
  if (!counts_tell()) {
    // A leader knows what the last exchange of all hosts needed.
    load_.prepare(job_.ops, comm_, send, recv, self_, counts_ ? counts_->least_time() : 0);
    return {};
  }
  const auto ours = [this](std::uint64_t load) {
    const auto found = tried_blocks_.find(static_cast<int>(std::bit_width(load)));
    return found == tried_blocks_.end() ||
           found->second.ways[found->second.trial.way()] != tuning::kNativeWay;
  };
  return counts_->prepare(send, recv, ours);
}

Communicator::Tried& Communicator::tried_blocks() {
  const bool told = counts_tell();
  const std::uint64_t bytes = told ? std::max<std::uint64_t>(counts_->load(), 1) : load_.bytes();
  base::Nanos limit = told ? counts_->least_time() : load_.limit();
  if (!told && !about_equal(limit_load_, bytes)) limit = 0;
  const auto size_class = static_cast<int>(std::bit_width(bytes));
  if (const auto found = tried_blocks_.find(size_class); found != tried_blocks_.end()) {
    found->second.trial.set_limit(limit);
    return found->second;
  }
  Tried made;
  made.bytes = bytes;
  made.any_size = true;
  made.ways = {tuning::Way{}, tuning::kNativeWay};
  made.trial = tuning::Trial(limit);
  adopt(made);
  return tried_blocks_.emplace(size_class, std::move(made)).first->second;
}

int Communicator::try_out_blocks(const BlockCall& call) {
  const base::Nanos begin = io::monotonic_now();
  if (const auto known = prepare_blocks(call); !known) return fail(call.name, known.error());
  Tried& tried = tried_blocks();
  const bool native = tried.ways[tried.trial.way()] == tuning::kNativeWay;
  const int code = native ? call.native() : accelerate_blocks(call);
  if (!native) limit_load_ = load_.bytes();
  if (native) job_.stats.update([](StatsRecord& stats) { ++stats.native; });
  if (code == kMpiSuccess) note_time(tried, io::monotonic_now() - begin);
  return code;
}

}  // namespace alm::mpi
