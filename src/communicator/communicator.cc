#include "communicator/communicator.h"

#include <fmt/format.h>

#include <exception>
#include <new>
#include <utility>

#include "communicator/bring_up.h"
#include "job/safe_collectives.h"

namespace alm::communicator {
namespace {

int by_library(job::Job& job, const std::function<int()>& native) {
  const int code = native();
  job.stats.update([](job::StatsRecord& stats) { ++stats.native; });
  return code;
}

}  // namespace

Communicator::Communicator(job::Job& job, job::CommHandle comm, std::uint32_t ranks,
                           std::uint32_t self, std::shared_ptr<job::CommLife> life)
    : job_(job),
      comm_(comm),
      life_(std::move(life)),
      ways_(members_),
      courier_(job, comm, members_, ways_, life_),
      report_(job, members_, ways_, courier_),
      failure_(job, comm, members_, courier_),
      trials_(job, comm, members_, ways_, courier_, failure_, report_),
      library_(job, comm),
      taken_(job, members_, ways_),
      queue_(job.mpi, comm, life_) {
  members_.ranks = ranks;
  members_.self = self;
}

std::unique_ptr<Communicator> Communicator::create(job::Job& job, job::CommHandle comm,
                                                   std::uint32_t ranks, std::uint32_t self) {
  auto made = std::make_unique<Communicator>(job, comm, ranks, self);
  made->bring_up();
  return made;
}

void Communicator::bring_up(std::string_view refusal) {
  auto result = BringUp(job_, comm_, members_, ways_, courier_).run(refusal);
  open_ = result.accelerates;
  obstacle_ = std::move(result.obstacle);
  if (!open_ || !job_.has_nonblocking()) return;
  const auto begun = queue_.begin(job_.start_thread);
  if (!begun) job_.log.warning(begun.error().message + "; nonblocking calls pass through");
  if (!job::SafeCollectives(job_.bootstrap, comm_).on_all(begun.ok())) return queue_.end();
  // Nonblocking calls wait for nobody, so they cannot ask who the neighbours are.
  if (!courier_.has_udp() || !job_.mpi->has_topology(comm_)) return;
  neighbourhood_.emplace();
  const auto learnt = neighbourhood_->learn(*job_.mpi, comm_, members_.ranks, members_.self);
  if (!job::SafeCollectives(job_.bootstrap, comm_).on_all(learnt.ok())) neighbourhood_.reset();
}

int Communicator::come(const Waiting::Buffers& buffers, const job::TypedBuffer* block) {
  const int code = waiting_->call(*job_.mpi, comm_, members_.ranks, buffers, block);
  if (code != job::kMpiSuccess || !waiting_->is_over()) return code;
  const Waiting waited = std::move(*waiting_);
  waiting_.reset();
  bring_up(waited.refusal());
  if (accelerates() && trials_.on() && !waited.library_calls().none()) {
    trials_.take_library_calls(waited.library_calls());
  }
  return code;
}

void Communicator::pass_through(std::string reason) {
  obstacle_ = std::move(reason);
  if (members_.self != 0) return;
  job_.log.info(fmt::format("communicator of {} ranks: {}; its MPI_Alltoall passes through",
                            members_.ranks, obstacle_));
}

// --- MPI_Alltoall

std::optional<int> Communicator::alltoall(const courier::AlltoallCall& call) {
  queue_.settle();
  if (!accelerates()) return std::nullopt;
  if (failure_.is_final()) return failure_.raise();
  courier_.begin_call(call.name);
  // Nothing for the library either; but others may have something for this rank.
  if (call.bytes() == 0) {
    courier_.goes_elsewhere(0);
    return std::nullopt;
  }
  report_.announce(call.bytes());
  return or_withdraw(call.name, [&] { return exchange(call); });
}

int Communicator::exchange(const courier::AlltoallCall& call) {
  if (trials_.on()) return exchange_on_trial(call);
  const tuning::Way way = ways_.model_way(call.bytes());
  taken_.note(call.taken, way, true, call.bytes());
  return stage_and_carry(call, way);
}

int Communicator::exchange_on_trial(const courier::AlltoallCall& call) {
  if (!courier_.has_udp() && !library_.asked()) ways_.take_library(library_.ask());
  Tried& tried = trials_.of(call.bytes(), !opens_messages_.value_or(true));
  trials_.burst(tried);
  while (!can_take(tried.way())) tried.trial.rule_out(tried.trial.way());
  const tuning::Way way = tried.way();
  taken_.note(call.taken, way, tried.trial.decided(), call.bytes());
  if (!ways_.goes_over_udp(way)) courier_.goes_elsewhere(call.bytes());
  const base::Nanos begin = io::monotonic_now();
  const bool ours = way.kind != tuning::Way::Kind::kNative;
  const int code =
      ours ? stage_and_carry(call, way)
           : by_library(job_, [&] { return library_.run(call, tuning::algorithm_of(way)); });
  return note_time(call.name, tried, begin, code);
}

// All ranks come here in the same call. Messages are opened in the first that is to take them: a
// communicator that is used once or twice takes nothing of the library's for it.
bool Communicator::can_take(tuning::Way way) {
  if (way.kind == tuning::Way::Kind::kNative) return library_.ready(tuning::algorithm_of(way));
  if (way.kind != tuning::Way::Kind::kMessages) return true;
  if (!opens_messages_) {
    opens_messages_ =
        courier_.has_messages() || BringUp(job_, comm_, members_, ways_, courier_).add_messages();
  }
  return *opens_messages_;
}

// A call that ends with an error on this rank alone counts as well: the others go on with the
// trial.
int Communicator::note_time(const char* function, Tried& tried, base::Nanos begin, int code) {
  if (failure_.is_final()) return code;
  const auto noted = trials_.took(function, tried, io::monotonic_now() - begin);
  if (!noted) return withdraw(function, noted.error());
  return failure_.happened() && code == job::kMpiSuccess ? failure_.raise() : code;
}

int Communicator::stage_and_carry(const courier::AlltoallCall& call, tuning::Way way) {
  if (failure_.happened()) {
    courier_.share_failure(true);  // messages may have been opened since
    return failure_.raise();
  }
  const auto ready = staging_->begin_even(job_.bootstrap, call, members_.ranks, members_.self);
  if (!ready) return withdraw(call.name, ready.error());
  courier_.uses(staging_);
  return raise(carry(call, *staging_, way));
}

job::Outcome Communicator::carry(const courier::AlltoallCall& call, courier::Staging& staged,
                                 tuning::Way way) {
  if (const auto done = courier_.alltoall(way, staged, call.bytes()); !done) {
    return {job::kMpiSuccess, failure_.give_up(call.name, done.error())};
  }
  return {staged.finish(job_.bootstrap, call, members_.ranks), {}};
}

// --- MPI_Alltoallv, MPI_Alltoallw

std::optional<int> Communicator::alltoall_blocks(const courier::BlockCall& call) {
  queue_.settle();
  if (!accelerates()) return std::nullopt;
  if (failure_.is_final()) return failure_.raise();
  report_.announce_blocks(call.name);
  courier_.begin_call(call.name);
  return or_withdraw(call.name, [&] {
    if (trials_.on_for_blocks()) return exchange_blocks_on_trial(call);
    taken_.note(call.taken, ways_.blocks_way(), true);
    return stage_and_carry(call, ways_.blocks_way(), courier::Counts::kUntold);
  });
}

int Communicator::exchange_blocks_on_trial(const courier::BlockCall& call) {
  const base::Nanos begin = io::monotonic_now();
  const auto known = load_.learn(call, members_.self, courier_, failure_,
                                 [this](std::uint64_t load) { return trials_.takes_ours(load); });
  if (!known) return withdraw(call.name, known.error());
  Tried& tried = trials_.of_blocks(Blocks::kOfAnySize, load_.bytes(), load_.limit());
  trials_.burst(tried);
  const tuning::Way way = tried.way();
  taken_.note(call.taken, way, tried.trial.decided());
  int code = job::kMpiSuccess;
  if (way == tuning::kNativeWay) {
    code = by_library(job_, call.native);
  } else {
    const bool told = courier_.tells_counts();
    code = stage_and_carry(call, way, told ? courier::Counts::kTold : courier::Counts::kUntold);
    load_.exchanged();
  }
  return note_time(call.name, tried, begin, code);
}

int Communicator::stage_and_carry(const courier::BlockCall& call, tuning::Way way,
                                  courier::Counts counts, std::uint64_t most) {
  if (failure_.happened()) return failure_.raise();
  const auto ready =
      courier::packed(blocks_->begin(job_.bootstrap, call, members_.ranks, members_.self));
  if (!ready) return withdraw(call.name, ready.error());
  courier_.uses(blocks_);
  return raise(carry(call, *blocks_, way, counts, most));
}

job::Outcome Communicator::carry(const courier::BlockCall& call, courier::BlockStaging& staged,
                                 tuning::Way way, courier::Counts counts, std::uint64_t most) {
  if (const auto done = courier_.alltoall_blocks(way, staged, counts, most); !done) {
    return {job::kMpiSuccess, failure_.give_up(call.name, done.error())};
  }
  return {staged.finish(job_.bootstrap, call), {}};
}

// --- MPI_Neighbor_alltoall and its v and w forms

std::optional<int> Communicator::alltoall_neighbours(const courier::NeighbourCall& call) {
  queue_.settle();
  if (!accelerates()) return std::nullopt;
  if (failure_.is_final()) return failure_.raise();
  // Messages of ours would be those of the library in another order.
  if (!courier_.has_udp()) {
    if (call.taken != nullptr)
      call.taken->way = job_.tally.way("library: neighbours, not over UDP");
    return by_library(job_, call.native);
  }
  report_.announce_blocks(call.name);
  courier_.begin_call(call.name);
  return or_withdraw(call.name, [&] { return exchange_neighbours(call); });
}

int Communicator::exchange_neighbours(const courier::NeighbourCall& call) {
  if (!neighbourhood_) {
    neighbourhood_.emplace();
    const auto learnt = neighbourhood_->learn(*job_.mpi, comm_, members_.ranks, members_.self);
    if (!learnt) return withdraw(call.name, learnt.error());
  }
  const courier::BlockCall blocks = neighbourhood_->blocks_of(call);
  const std::uint64_t most = neighbourhood_->most_bytes(call);
  if (!trials_.on_for_blocks()) {
    taken_.note(call.taken, ways_.blocks_way(), true);
    return stage_and_carry(blocks, ways_.blocks_way(), courier::Counts::kOfNeighbours, most);
  }
  const base::Nanos begin = io::monotonic_now();
  const auto known =
      neighbour_load_.learn(job_, blocks, call.one_size, failure_, members_, *neighbourhood_);
  if (!known) return withdraw(call.name, known.error());
  Tried& tried =
      trials_.of_blocks(Blocks::kOfNeighbours, neighbour_load_.bytes(), neighbour_load_.limit());
  const tuning::Way way = tried.way();
  taken_.note(call.taken, way, tried.trial.decided());
  if (call.taken != nullptr) call.taken->bound = neighbour_load_.limit();
  const int code = way == tuning::kNativeWay
                       ? by_library(job_, call.native)
                       : stage_and_carry(blocks, way, courier::Counts::kOfNeighbours, most);
  return note_time(call.name, tried, begin, code);
}

// --- Nonblocking

std::optional<int> Communicator::start(const courier::AlltoallCall& call,
                                       job::RequestHandle& request) {
  if (!accelerates() || !queue_.begun()) return std::nullopt;
  const auto way = trials_.decided(call.bytes());
  if (failure_.happened() && (way || failure_.is_final())) return failure_.raise();
  courier_.begin_call(call.name);
  if (!way) return std::nullopt;
  return or_withdraw(call.name, [&] { return queue(call, *way, request); });
}

int Communicator::queue(const courier::AlltoallCall& call, tuning::Way way,
                        job::RequestHandle& request) {
  auto queued = std::make_shared<QueuedAlltoall>(*job_.mpi, call);
  const auto ready =
      queued->staging.begin_even(job_.bootstrap, call, members_.ranks, members_.self);
  if (!ready) return withdraw(call.name, ready.error());
  const base::Nanos begin = io::monotonic_now();
  const auto carried = [this, queued, way, begin] { return carry_out(queued, way, begin); };
  return enqueue(call.name, carried, request);
}

job::Outcome Communicator::carry_out(const std::shared_ptr<QueuedAlltoall>& queued, tuning::Way way,
                                     base::Nanos begin) {
  report_.announce(queued->call.bytes());
  courier_.uses(queued);
  job::Outcome outcome = carry(queued->call, queued->staging, way);
  courier_.uses(nullptr);
  taken_.note_end(queued->call.name, way, queued->call.bytes(), begin);
  return outcome;
}

std::optional<int> Communicator::start_blocks(const courier::BlockCall& call,
                                              job::RequestHandle& request) {
  if (!accelerates() || !queue_.begun() || !courier_.has_udp()) return std::nullopt;
  if (failure_.happened()) return failure_.raise();
  courier_.begin_call(call.name);
  return or_withdraw(call.name, [&] {
    return queue(call, call.mean_bytes(), courier::Counts::kUntold, 0, request);
  });
}

std::optional<int> Communicator::start_neighbours(const courier::NeighbourCall& call,
                                                  job::RequestHandle& request) {
  if (!accelerates() || !queue_.begun() || !neighbourhood_) return std::nullopt;
  if (failure_.is_final()) return failure_.raise();
  courier_.begin_call(call.name);
  bool passed = false;
  const int code = or_withdraw(call.name, [&] {
    const courier::BlockCall blocks = neighbourhood_->blocks_of(call);
    const auto load = NeighbourLoad::known(blocks, call.one_size, *neighbourhood_);
    passed = load && trials_.chose_library(Blocks::kOfNeighbours, *load);
    if (passed) return job::kMpiSuccess;
    if (failure_.happened()) return failure_.raise();
    return queue(blocks, call.mean_bytes(), courier::Counts::kOfNeighbours,
                 neighbourhood_->most_bytes(call), request);
  });
  return passed ? std::nullopt : std::optional(code);
}

int Communicator::queue(const courier::BlockCall& call, std::uint64_t mean_bytes,
                        courier::Counts counts, std::uint64_t most, job::RequestHandle& request) {
  auto queued = std::make_shared<QueuedBlocks>(*job_.mpi, call);
  const auto ready =
      courier::packed(queued->staging.begin(job_.bootstrap, call, members_.ranks, members_.self));
  if (!ready) return withdraw(call.name, ready.error());
  queued->detach();
  const base::Nanos begin = io::monotonic_now();
  queued->mean_bytes = mean_bytes;
  return enqueue(
      call.name,
      [this, queued, counts, most, begin] { return carry_out(queued, begin, counts, most); },
      request);
}

job::Outcome Communicator::carry_out(const std::shared_ptr<QueuedBlocks>& queued, base::Nanos begin,
                                     courier::Counts counts, std::uint64_t most) {
  const tuning::Way way = ways_.blocks_way();
  report_.announce_blocks(queued->call.name);
  courier_.uses(queued);
  job::Outcome outcome = carry(queued->call, queued->staging, way, counts, most);
  courier_.uses(nullptr);
  taken_.note_end(queued->call.name, way, queued->mean_bytes, begin);
  return outcome;
}

int Communicator::enqueue(const char* function, std::function<job::Outcome()> carry,
                          job::RequestHandle& request) {
  const auto added = queue_.add(
      [this, function, carry = std::move(carry)] { return failure_.guarded(function, carry); },
      request);
  if (!added) return withdraw(function, added.error());
  job_.stats.update([](job::StatsRecord& stats) { ++stats.nonblocking; });
  return job::kMpiSuccess;
}

// --- Failing

int Communicator::raise(const job::Outcome& outcome) {
  if (!outcome.failure.message.empty()) return failure_.raise();
  return outcome.code == job::kMpiSuccess ? job::kMpiSuccess
                                          : job_.bootstrap.raise_code(comm_, outcome.code);
}

int Communicator::withdraw(const char* function, const base::Error& error) {
  queue_.settle();
  failure_.withdraw(function, error);
  return failure_.raise();
}

int Communicator::or_withdraw(const char* function, const std::function<int()>& work) {
  try {
    return work();
  } catch (const std::exception& thrown) {
    return withdraw(function, courier::error_of(thrown));
  }
}

void Communicator::leave() {
  queue_.settle();
  courier_.goes_elsewhere(std::nullopt);
}

void Communicator::raise_late_failure() {
  if (!accelerates() || failure_.happened() || life_->ended()) return;
  if (const auto late = courier_.sizes_fit(); !late) {
    failure_.give_up("MPI_Alltoallv", late.error());
    static_cast<void>(failure_.raise());  // MPI_Finalize goes on
  }
}

void Communicator::close() {
  queue_.end();
  if (!failure_.happened()) trials_.record();
  open_ = false;
  courier_.close();
  library_.close();
  staging_->release();
  blocks_->release();
}

}  // namespace alm::communicator
