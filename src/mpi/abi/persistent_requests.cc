#include "mpi/abi/persistent_requests.h"

#include <utility>

#include "mpi/abi/handle.h"

namespace alm::mpi {
namespace {

constexpr int kTagsMax = 32767;  // what every library has

}  // namespace

bool SelfSend::started() {
  int found = 0;
  return all_.api_.Iprobe(0, tag_, all_.comm_, &found, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
         found != 0;
}

void SelfSend::announce() {
  const std::lock_guard lock(mutex_);
  announced_ = true;
  pending_ = all_.sleepers_.add(handle_);
}

void SelfSend::not_found() {
  const std::lock_guard lock(mutex_);
  announced_ = false;
  if (!pending_) return;
  all_.sleepers_.remove(handle_);
  Sleepers::wake(*pending_);
  pending_.reset();
}

void SelfSend::complete(job::Outcome outcome) {
  std::shared_ptr<Sleepers::Pending> pending;
  {
    const std::lock_guard lock(mutex_);
    if (!outcome.good() && failure_.good()) ++all_.failures_;
    if (!outcome.good()) failure_ = std::move(outcome);
    pending = std::move(pending_);
    announced_ = false;
    // From now on the program may start it again.
    if (pending) all_.sleepers_.remove(handle_);
  }
  all_.api_.Recv(nullptr, 0, all_.api_.byte, 0, tag_, all_.comm_, MPI_STATUS_IGNORE);
  if (pending) Sleepers::wake(*pending);
}

void SelfSend::drop() {
  auto request = from_opaque<MPI_Request>(handle_);
  all_.forget(request);
  all_.api_.Request_free(&request);
}

int SelfSend::refuse_to_cancel() {
  return life_->ended() ? MPI_ERR_REQUEST : all_.ops_.raise_code(comm_, MPI_ERR_REQUEST);
}

int SelfSend::raise_failure() {
  job::Outcome failure;
  {
    const std::lock_guard lock(mutex_);
    failure = std::exchange(failure_, {});
  }
  if (failure.good()) return MPI_SUCCESS;
  --all_.failures_;
  return all_.ops_.raise_outcome(comm_, *life_, failure);
}

base::Result<std::shared_ptr<job::PersistentRequest>> PersistentRequests::make(
    job::CommHandle comm, std::shared_ptr<const job::CommLife> life,
    std::function<void()> on_start) {
  const int tag = ++tags_;
  if (tag > kTagsMax) return base::io_error("too many persistent requests");
  auto made = std::make_shared<SelfSend>(*this, tag, comm, std::move(life), std::move(on_start));
  MPI_Request request = api_.request_null;
  if (api_.Ssend_init(nullptr, 0, api_.byte, 0, tag, comm_, &request) != MPI_SUCCESS) {
    return base::io_error("MPI_Ssend_init failed");
  }
  made->handle_ = to_opaque(request);
  const std::lock_guard lock(mutex_);
  all_[made->handle_] = made;
  count_ = all_.size();
  return std::shared_ptr<job::PersistentRequest>(std::move(made));
}

std::shared_ptr<SelfSend> PersistentRequests::find(MPI_Request request) const {
  const std::lock_guard lock(mutex_);
  const auto found = all_.find(to_opaque(request));
  return found == all_.end() ? nullptr : found->second;
}

std::vector<std::shared_ptr<SelfSend>> PersistentRequests::among(
    std::span<const MPI_Request> requests) const {
  std::vector<std::shared_ptr<SelfSend>> ours;
  const std::lock_guard lock(mutex_);
  for (MPI_Request request : requests) {
    const auto found = all_.find(to_opaque(request));
    if (found != all_.end()) ours.push_back(found->second);
  }
  return ours;
}

void PersistentRequests::forget(MPI_Request request) {
  std::shared_ptr<SelfSend> gone;
  {
    const std::lock_guard lock(mutex_);
    const auto found = all_.find(to_opaque(request));
    if (found == all_.end()) return;
    gone = std::move(found->second);
    all_.erase(found);
    count_ = all_.size();
  }
  gone->freed_ = true;
  const std::lock_guard lock(gone->mutex_);
  if (!std::exchange(gone->failure_, {}).good()) --failures_;
}

}  // namespace alm::mpi
