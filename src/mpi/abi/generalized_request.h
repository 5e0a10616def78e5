// PendingRequest as a generalized request of MPI (MPI 4.1 section 13.2).
#pragma once

#include <memory>

#include "job/ops.h"
#include "messages/io/mpi_api.h"
#include "mpi/abi/sleepers.h"

namespace alm::mpi {

class GeneralizedRequest final : public job::PendingRequest {
 public:
  // `api`, `ops` and `sleepers` must outlive the request.
  static base::Result<std::unique_ptr<job::PendingRequest>> start(
      const messages::MpiApi& api, job::MpiOps& ops, Sleepers& sleepers, job::CommHandle comm,
      std::shared_ptr<const job::CommLife> life);

  job::RequestHandle handle() const override;
  void complete(job::Outcome outcome) override;

 private:
  struct State;

  GeneralizedRequest(const messages::MpiApi& api, Sleepers& sleepers, std::shared_ptr<State> state)
      : api_(api), sleepers_(sleepers), state_(std::move(state)) {}

  // MPI's callbacks. `state` is a std::shared_ptr<State>* of its own: a program that frees the
  // request too early does not take it away from the thread that completes it.
  static int query(void* state, MPI_Status* status);
  static int release(void* state);
  static int cancel(void* state, int complete);

  const messages::MpiApi& api_;
  Sleepers& sleepers_;
  std::shared_ptr<State> state_;
  std::shared_ptr<Sleepers::Pending> pending_;
  MPI_Request request_{};
};

}  // namespace alm::mpi
