#include "session/persistent_calls.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

#include "job/safe_collectives.h"

namespace alm::session {
namespace {

// Each has a thread, sets and what its exchanges take. Programs have one or two for each array.
constexpr std::size_t kLanesMax = 32;

}  // namespace

std::optional<int> PersistentCalls::make(const courier::AlltoallCall& call,
                                         communicator::Communicator& parent,
                                         job::RequestHandle& request) {
  const bool wanted =
      call.bytes() > 0 && communicator::PersistentLane::is_wanted(parent, call.bytes());
  const auto keep = [&](communicator::PersistentLane& lane,
                        std::shared_ptr<job::PersistentRequest> made) {
    lane.keep(call, parent, std::move(made));
  };
  return make({call.comm, call.name, false, wanted}, parent, keep, request);
}

std::optional<int> PersistentCalls::make(const courier::BlockCall& call,
                                         communicator::Communicator& parent,
                                         job::RequestHandle& request) {
  const auto keep = [&](communicator::PersistentLane& lane,
                        std::shared_ptr<job::PersistentRequest> made) {
    lane.keep(call, std::move(made));
  };
  return make({call.comm, call.name, true, true}, parent, keep, request);
}

std::optional<int> PersistentCalls::make(const Subject& subject, communicator::Communicator& parent,
                                         const Keep& keep, job::RequestHandle& request) {
  const auto taken = take_lane(subject, parent);
  if (!taken) return parent.withdraw(subject.function, taken.error());
  Lane* const lane = taken.value();
  if (lane == nullptr) return std::nullopt;
  bool made = false;
  lane->request.reset();  // of a call that the program has freed
  try {
    communicator::PersistentLane* const persistent = lane->persistent.get();
    auto own = job_.mpi->make_persistent(subject.comm, parent.life(),
                                         [persistent] { persistent->look(); });
    if (own) {
      lane->request = std::move(own).value();
      keep(*persistent, lane->request);
      made = true;
    }
  } catch (const std::exception&) {
    made = false;  // no memory: the library may have enough
  }
  if (job::SafeCollectives(job_.bootstrap, subject.comm).on_all(made)) {
    request = lane->request->handle();
    return job::kMpiSuccess;
  }
  lane->persistent->end();
  if (lane->request) lane->request->drop();
  lane->request.reset();
  return std::nullopt;
}

// Null, on all ranks: there is none.
base::Result<PersistentCalls::Lane*> PersistentCalls::take_lane(
    const Subject& subject, communicator::Communicator& parent) {
  const std::vector<Lane*> lanes = lanes_of(parent);
  bool room = false;
  {
    const std::lock_guard lock(mutex_);
    room = lanes_.size() < kLanesMax;
  }
  std::vector<std::uint64_t> words = {subject.wanted ? 1u : 0u, room ? 1u : 0u};
  for (const Lane* lane : lanes) {
    // The thread that has completed it may still be about to notice.
    if (lane->request && lane->request->freed()) lane->persistent->settle();
    words.push_back(lane->free() ? 1 : 0);
  }
  if (job_.bootstrap.allreduce_min(subject.comm, words) != job::kMpiSuccess) {
    return base::io_error("MPI_Allreduce on who can start it has failed");
  }
  if (words[0] == 0) return nullptr;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    if (words[2 + i] != 0 && lanes[i]->persistent->carries(subject.blocks)) return lanes[i];
  }
  return words[1] != 0 ? add_lane(subject, parent) : nullptr;
}

PersistentCalls::Lane* PersistentCalls::add_lane(const Subject& subject,
                                                 communicator::Communicator& parent) {
  auto made = std::make_unique<Lane>();
  made->parent = &parent;
  made->persistent = std::make_unique<communicator::PersistentLane>(job_, subject.comm, parent);
  if (!made->persistent->carries(subject.blocks)) {
    made->persistent->exchanges().close();
    return nullptr;
  }
  const std::lock_guard lock(mutex_);
  return lanes_.emplace_back(std::move(made)).get();
}

// In the order in which they were made, which is the same on all ranks.
std::vector<PersistentCalls::Lane*> PersistentCalls::lanes_of(
    const communicator::Communicator& parent) {
  const std::lock_guard lock(mutex_);
  std::vector<Lane*> found;
  for (const auto& lane : lanes_) {
    if (lane->parent == &parent) found.push_back(lane.get());
  }
  return found;
}

void PersistentCalls::leave(const communicator::Communicator& parent) {
  const std::lock_guard lock(mutex_);
  for (const auto& lane : lanes_) {
    if (lane->parent == &parent) lane->parent = nullptr;
  }
}

void PersistentCalls::reap() {
  std::vector<std::unique_ptr<Lane>> over;
  {
    const std::lock_guard lock(mutex_);
    const auto first_over = std::stable_partition(
        lanes_.begin(), lanes_.end(),
        [](const auto& lane) { return lane->parent != nullptr || !lane->over(); });
    std::move(first_over, lanes_.end(), std::back_inserter(over));
    lanes_.erase(first_over, lanes_.end());
  }
  for (const auto& lane : over) lane->persistent->exchanges().close();
}

void PersistentCalls::settle() {
  for (const auto& lane : lanes_) lane->persistent->exchanges().leave();
}

void PersistentCalls::raise_late_failures() {
  for (const auto& lane : lanes_) lane->persistent->exchanges().raise_late_failure();
}

void PersistentCalls::close() {
  for (const auto& lane : lanes_) lane->persistent->exchanges().close();
}

}  // namespace alm::session
