#include "mpi/abi/sleepers.h"

namespace alm::mpi {

std::shared_ptr<Sleepers::Pending> Sleepers::add(job::RequestHandle request) {
  auto pending = std::make_shared<Pending>();
  const std::lock_guard lock(mutex_);
  pending_[request] = pending;
  return pending;
}

void Sleepers::remove(job::RequestHandle request) {
  const std::lock_guard lock(mutex_);
  pending_.erase(request);
}

std::shared_ptr<Sleepers::Pending> Sleepers::find(job::RequestHandle request) {
  const std::lock_guard lock(mutex_);
  const auto found = pending_.find(request);
  return found == pending_.end() ? nullptr : found->second;
}

void Sleepers::wake(Pending& pending) {
  const std::lock_guard lock(pending.mutex);
  pending.done = true;
  pending.over.notify_all();
}

void Sleepers::sleep(Pending& pending) {
  std::unique_lock lock(pending.mutex);
  pending.over.wait(lock, [&] { return pending.done; });
}

}  // namespace alm::mpi
