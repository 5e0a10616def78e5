// The part of interposer.h for requests.
#include <algorithm>
#include <span>
#include <vector>

#include "mpi/abi/handle.h"
#include "mpi/abi/interposer.h"

namespace alm::mpi {

void Interposer::sleep_until_complete(int count, const void* requests) {
  if (session_ == nullptr || !session_->starting() || requests == nullptr) return;
  const auto* all = static_cast<const MPI_Request*>(requests);
  std::vector<std::shared_ptr<Sleepers::Pending>> ours;
  for (int i = 0; i < count; ++i) {
    if (all[i] == library_->api().request_null) continue;
    ours.push_back(ops_->persistent().sleepers().find(to_opaque(all[i])));
    // Others need MPI's progress, which the library's function sees to better than we.
    if (ours.back() == nullptr) return;
  }
  for (const auto& pending : ours) Sleepers::sleep(*pending);
}

int Interposer::start(int count, void* requests, const std::function<int()>& native) {
  if (session_ == nullptr || requests == nullptr || count <= 0 ||
      !(ops_->persistent().any() || passed_.any())) {
    return native();
  }
  // The library knows an invalid handle for one; here it is among none.
  const std::span all(static_cast<const MPI_Request*>(requests), static_cast<std::size_t>(count));
  const auto ours = ops_->persistent().among(all);
  for (const auto& one : ours) one->announce();
  const int code = native();
  if (code != MPI_SUCCESS) {
    for (const auto& one : ours) one->take_back();
    return code;
  }
  for (const auto& one : ours) one->seen();
  for (MPI_Request request : all) {
    if (const auto known = passed_.find(to_opaque(request))) {
      session_->note_passed(known->function, known->bytes);
    }
  }
  return code;
}

void Interposer::freeing_request(const void* request) {
  if (session_ == nullptr || request == nullptr) return;
  MPI_Request handle = *static_cast<const MPI_Request*>(request);
  if (ops_->persistent().any()) ops_->persistent().forget(handle);
  if (passed_.any()) passed_.erase(to_opaque(handle));
}

std::optional<int> Interposer::refuse_to_cancel(const void* request) {
  if (session_ == nullptr || request == nullptr || !ops_->persistent().any()) return std::nullopt;
  const auto ours = ops_->persistent().find(*static_cast<const MPI_Request*>(request));
  // The handle of one that was freed unseen may be of another request by now.
  const bool active = ours && (ours->announced() || ours->started());
  return active ? std::optional(ours->refuse_to_cancel()) : std::nullopt;
}

int Interposer::completed(int code, const void* requests, int index) {
  if (session_ == nullptr || !ops_->persistent().failed() || code != MPI_SUCCESS || index < 0) {
    return code;
  }
  const auto ours = ops_->persistent().find(static_cast<const MPI_Request*>(requests)[index]);
  return ours ? ours->raise_failure() : code;
}

int Interposer::completed_some(int code, int count, const int* indices, const void* requests,
                               void* statuses) {
  const bool looks = session_ != nullptr && ops_->persistent().failed() &&
                     (code == MPI_SUCCESS || code == MPI_ERR_IN_STATUS);
  auto* const told = statuses == static_cast<void*>(MPI_STATUSES_IGNORE)
                         ? nullptr
                         : static_cast<MPI_Status*>(statuses);
  for (int i = 0; looks && i < count; ++i) {
    const int at = indices != nullptr ? indices[i] : i;
    const auto ours = ops_->persistent().find(static_cast<const MPI_Request*>(requests)[at]);
    const int raised = ours ? ours->raise_failure() : MPI_SUCCESS;
    if (raised == MPI_SUCCESS) continue;
    if (told != nullptr && code == MPI_SUCCESS) {
      for (int other = 0; other < count; ++other) told[other].MPI_ERROR = MPI_SUCCESS;
    }
    if (told != nullptr) told[i].MPI_ERROR = raised;
    code = MPI_ERR_IN_STATUS;
  }
  return code;
}

}  // namespace alm::mpi
