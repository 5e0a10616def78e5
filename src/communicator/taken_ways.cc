#include "communicator/taken_ways.h"

#include <algorithm>

#include "topology/bound.h"
#include "transport/io/endpoint.h"

namespace alm::communicator {
namespace {

// Programs with more sizes than that learn no bound of the others: each takes a look at all routes.
constexpr std::size_t kBoundsKept = 32;

}  // namespace

void TakenWays::note(tally::Taken* taken, tuning::Way way, bool decided, std::uint64_t bytes) {
  if (taken == nullptr) return;
  const std::lock_guard lock(mutex_);
  taken->way = id_of(way, decided);
  taken->bound = bound(bytes);
}

void TakenWays::note_end(const char* function, tuning::Way way, std::uint64_t bytes,
                         base::Nanos begin) {
  if (!job_.tally.counts()) return;
  const base::Nanos now = io::monotonic_now();
  tally::WayId id = tally::kNoWay;
  {
    const std::lock_guard lock(mutex_);
    id = id_of(way, true);
  }
  job_.tally.note(tally::function_of(function), bytes, {id, 0}, now - begin);
}

tally::WayId TakenWays::id_of(tuning::Way way, bool decided) {
  const bool native = way.kind == tuning::Way::Kind::kNative;
  decided = decided || !native;  // ours are told by their names alone
  const auto known = std::find_if(known_.begin(), known_.end(), [&](const Known& one) {
    return one.way == way && one.decided == decided;
  });
  if (known != known_.end()) return known->id;
  const auto id =
      job_.tally.way(!native ? ways_.name_of(way)
                             : ways_.key_of(way) + (decided ? ": faster here" : ": on trial"));
  known_.push_back({way, decided, id});
  return id;
}

// For blocks of one size, with as many ranks on every host; 0: not known.
base::Nanos TakenWays::bound(std::uint64_t bytes) {
  if (bytes == 0 || members_.hosts.empty() || !members_.placement.equal()) return 0;
  if (const auto found = bounds_.find(bytes); found != bounds_.end()) return found->second;
  if (bounds_.size() == kBoundsKept) return 0;
  const double seconds = topology::alltoall_bound_seconds(
      *job_.cluster, members_.hosts, members_.host_block(bytes), topology::Packing::kShared);
  return bounds_[bytes] = static_cast<base::Nanos>(seconds * base::kSecond);
}

}  // namespace alm::communicator
