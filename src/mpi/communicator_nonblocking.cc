// MPI_Ialltoall, MPI_Ialltoallv and MPI_Ialltoallw: the call packs what is sent and queues the
// exchange; a thread of the communicator's own carries it out, unpacks, and completes the request.
//
// The thread calls no collective on the user's communicator: it would come between those the
// program calls meanwhile. What needs one (trials, comparing sizes before MPI messages) is left to
// blocking calls. Those wait for the exchanges queued before them.
#include <fmt/format.h>

#include <bit>
#include <exception>
#include <utility>

#include "mpi/communicator.h"
#include "mpi/nonblocking.h"

namespace alm::mpi {

HeldTypes::~HeldTypes() {
  for (const TypeHandle type : held_) ops_.release_type(type);
}

void HeldTypes::hold(TypedBuffer& buffer) {
  if (ops_.hold_type(buffer)) held_.push_back(buffer.type);
}

void HeldTypes::hold(std::vector<TypedBuffer>& blocks) {
  TypeHandle last = 0;  // neighbours mostly have the same
  TypeHandle last_held = 0;
  for (TypedBuffer& block : blocks) {
    if (block.bytes() == 0) continue;
    if (block.type != last) {
      last = block.type;
      hold(block);
      last_held = block.type;
    }
    block.type = last_held;
  }
}

void Communicator::settle() {
  if (worker_) worker_->drain();
}

// What blocking calls have agreed on holds for nonblocking ones too. On trial, and where messages
// won (they would come between those of other calls), they go the model's way. Nothing: the
// library's own.
std::optional<tuning::Way> Communicator::decided_way(std::uint64_t bytes) const {
  const tuning::Way model = model_way(bytes);
  if (!on_trial()) return model;
  const auto found =
      tried_.find(std::tuple(static_cast<int>(std::bit_width(bytes)), model.kind, model.index));
  if (found == tried_.end() || !found->second.trial.has_decided()) return model;
  const tuning::Way way = found->second.ways[found->second.trial.chosen()];
  if (way == tuning::kNativeWay) return std::nullopt;
  return way.kind == tuning::Way::Kind::kMessages ? model : way;
}

template <class Queued, class Run>
int Communicator::enqueue(std::shared_ptr<Queued> queued, Run run, RequestHandle& request) {
  if (!worker_) worker_ = std::make_unique<Worker>();
  auto made = job_.ops.make_request(comm_, dead_);
  if (!made) return withdraw(queued->call.name, made.error());
  queued->request = std::move(made).value();
  request = queued->request->handle();
  job_.stats.update([](StatsRecord& stats) { ++stats.nonblocking; });
  worker_->queue([this, queued = std::move(queued), run] {
    Outcome outcome;
    queued_ = queued;
    try {
      outcome = run(*queued);
    } catch (const std::exception& failure) {
      outcome.failure = tell_and_give_up(queued->call.name, base::io_error(failure.what()));
    }
    queued_.reset();
    queued->request->complete(std::move(outcome));
  });
  return kMpiSuccess;
}

std::optional<int> Communicator::start(const AlltoallCall& call, RequestHandle& request) {
  if (!accelerates()) return std::nullopt;
  std::optional<tuning::Way> way;
  {
    const std::lock_guard lock(release_mutex_);
    if (mode_ != Mode::kFailed) {
      way = decided_way(call.bytes());
      begin_call();
    }
  }
  if (mode_ == Mode::kFailed) return raise_failure();
  if (!way) return std::nullopt;
  return or_withdraw(call.name, [&] { return queue(call, *way, request); });
}

int Communicator::queue(const AlltoallCall& call, tuning::Way way, RequestHandle& request) {
  auto queued = std::make_shared<QueuedExchange>(job_.ops);
  queued->call = call;
  queued->types.hold(queued->call.recv);
  if (const auto ready = begin(queued->staging, call); !ready) {
    return withdraw(call.name, ready.error());
  }
  const auto run = [this, way](QueuedExchange& one) -> Outcome {
    if (mode_ == Mode::kFailed) return {kMpiSuccess, failure_};
    announce(one.call.bytes());
    if (const auto done = exchange(one.staging, one.call.bytes(), way); !done) {
      return {kMpiSuccess, give_up(one.call.name, done.error())};
    }
    return {one.staging.finish(job_.ops, one.call, ranks_), {}};
  };
  return enqueue(std::move(queued), run, request);
}

std::optional<int> Communicator::start_blocks(const BlockCall& call, RequestHandle& request) {
  if (!accelerates() || over_mpi_) return std::nullopt;
  {
    const std::lock_guard lock(release_mutex_);
    if (mode_ != Mode::kFailed) begin_call();
  }
  if (mode_ == Mode::kFailed) return raise_failure();
  return or_withdraw(call.name, [&] { return queue(call, request); });
}

int Communicator::queue(const BlockCall& call, RequestHandle& request) {
  auto queued = std::make_shared<QueuedBlocks>(job_.ops);
  queued->call = call;
  queued->recv.assign(call.recv.begin(), call.recv.end());
  queued->types.hold(queued->recv);
  if (const auto ready = packed(queued->staging.begin(job_.ops, call, self_)); !ready) {
    return withdraw(call.name, ready.error());
  }
  queued->call.recv = queued->recv;
  queued->call.send = {};
  const auto run = [this](QueuedBlocks& one) -> Outcome {
    if (mode_ == Mode::kFailed) return {kMpiSuccess, failure_};
    announce_blocks(one.call.name);
    if (const auto done = exchange_blocks(one.staging); !done) {
      return {kMpiSuccess, give_up(one.call.name, done.error())};
    }
    return {one.staging.finish(job_.ops, one.call, self_), {}};
  };
  return enqueue(std::move(queued), run, request);
}

}  // namespace alm::mpi
