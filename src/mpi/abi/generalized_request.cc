#include "mpi/abi/generalized_request.h"

#include <mutex>
#include <utility>

#include "mpi/abi/handle.h"

namespace alm::mpi {

struct GeneralizedRequest::State {
  const messages::MpiApi& api;
  job::MpiOps& ops;
  job::CommHandle comm;
  std::shared_ptr<const job::CommLife> life;
  std::mutex mutex;
  job::Outcome outcome;
  bool raised = false;
};

base::Result<std::unique_ptr<job::PendingRequest>> GeneralizedRequest::start(
    const messages::MpiApi& api, job::MpiOps& ops, Sleepers& sleepers, job::CommHandle comm,
    std::shared_ptr<const job::CommLife> life) {
  std::shared_ptr<State> state(new State{api, ops, comm, std::move(life), {}, {}, false});
  std::unique_ptr<GeneralizedRequest> made(new GeneralizedRequest(api, sleepers, state));
  auto own = std::make_unique<std::shared_ptr<State>>(std::move(state));
  if (api.Grequest_start(query, release, cancel, own.get(), &made->request_) != MPI_SUCCESS) {
    return base::io_error("MPI_Grequest_start failed");
  }
  static_cast<void>(own.release());  // release() has it now
  made->pending_ = sleepers.add(made->handle());
  return std::unique_ptr<job::PendingRequest>(std::move(made));
}

job::RequestHandle GeneralizedRequest::handle() const { return to_opaque(request_); }

void GeneralizedRequest::complete(job::Outcome outcome) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->outcome = std::move(outcome);
  }
  sleepers_.remove(handle());
  api_.Grequest_complete(request_);
  Sleepers::wake(*pending_);
}

// In the thread that finds the request complete: error handlers run where the program expects them.
int GeneralizedRequest::query(void* pointer, MPI_Status* status) {
  State& state = **static_cast<std::shared_ptr<State>*>(pointer);
  job::Outcome outcome;
  bool raise = false;
  {
    const std::lock_guard lock(state.mutex);
    outcome = state.outcome;
    raise = !outcome.good() && !std::exchange(state.raised, true);
  }
  if (raise) {
    outcome = {state.ops.raise_outcome(state.comm, *state.life, outcome), {}};
    const std::lock_guard lock(state.mutex);
    state.outcome = outcome;
  }
  state.api.Status_set_elements(status, state.api.byte, 0);
  state.api.Status_set_cancelled(status, 0);
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  status->MPI_ERROR = outcome.code;
  return outcome.code;
}

int GeneralizedRequest::release(void* pointer) {
  delete static_cast<std::shared_ptr<State>*>(pointer);
  return MPI_SUCCESS;
}

// A collective cannot be cancelled (MPI 4.1 section 6.12): the exchange goes on to its end.
int GeneralizedRequest::cancel(void*, int) { return MPI_SUCCESS; }

}  // namespace alm::mpi
