#include "session/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "communicator/check_description.h"
#include "job/safe_collectives.h"
#include "plan/tune.h"
#include "session/session_known.h"
#include "session/session_tally.h"
#include "tuning/decisions.h"
#include "tuning/due.h"
#include "tuning/way_key.h"
#include "ways/plan_settings.h"

namespace alm::session {
namespace {

constexpr int kAbortCode = 1;

void warn_of_progress(const job::Job& job) {
  if (job.rank != 0 || !job::wants_threads(job.options)) return;
  if (job.agreement.accelerate && !job.agreement.threads) {
    job.log.warning(
        "ALLEMANDE_PROGRESS=thread needs an MPI library that provides MPI_THREAD_MULTIPLE, which "
        "this one does not on every rank; nonblocking calls pass through");
  }
  if (job.agreement.device_memory) {
    job.log.warning(
        "ALLEMANDE_PROGRESS=thread has no effect where GPU memory may be passed: nonblocking calls "
        "pass through. ALLEMANDE_DEVICE_MEMORY=off tells that it is not.");
  }
}

// Ranks that wait busily hold the processor that others need: nobody sees that from outside.
void look_at_processors(job::Job& job) {
  if (job.rank != 0 || !job.log.shows(job::LogLevel::kInfo)) return;
  if (!job.processor_wait.found(io::monotonic_now(), job::waited_for_processor)) return;
  job.log.info(job::crowded_text(job.processor_wait.percent(), job::processors_here(),
                                 job::running_processes(), job.mpi->library()));
}

// Where nonblocking calls are possible it is brought up in MPI_Init. Where an earlier job has found
// a way for small blocks that is not the library's, they need not wait.
bool wants_world_at_once(const job::Job& job) {
  if (job.has_nonblocking() || job.profile) return true;
  return std::any_of(job.known.begin(), job.known.end(), [&](const tuning::Decision& one) {
    return one.ranks == job.records.size() && one.calls == tuning::kCallsOfOneSize &&
           tuning::DueByTime::waits_for(one.least_bytes) && one.chosen != tuning::kLibrary;
  });
}

}  // namespace

Session::Session(job::MpiOps& mpi, Surroundings surroundings)
    : mpi_(mpi), job_(mpi), in_device_memory_(std::move(surroundings.in_device_memory)) {
  if (in_device_memory_) return;
  in_device_memory_ = [this](const void* address) { return device_memory_.contains(address); };
}

std::unique_ptr<Session> Session::start(job::MpiOps& mpi, Surroundings surroundings) {
  job::JobSettings settings = std::move(surroundings.settings);
  std::unique_ptr<Session> session(new Session(mpi, std::move(surroundings)));
  session->identify();
  job::JobRecord record;
  session->read_configuration(record, std::move(settings));
  session->await_everybody();
  if (!session->compare(record)) {
    session->begin_tally();
    return session;
  }
  drop_file_of_others(session->job_);
  const job::Job& job = session->job_;
  session->accelerating_ =
      job.agreement.accelerate && !job.options.disable && job.options.algorithm != "native";
  if (session->accelerating_) {
    session->job_.choose_network(mpi.world());
    session->load_profile();
    session->tell_decisions();
  }
  session->begin_tally();
  session->say_what_is_known();
  warn_of_progress(job);
  // Nonblocking calls cannot wait until a communicator is up: this one is from the beginning.
  if (session->starting()) session->open(mpi.world(), Shape(job));
  return session;
}

// What fails here fails before anything could be agreed on: the others would wait for this rank.
void Session::identify() {
  int ranks = 0;
  int rank = 0;
  if (mpi_.comm_size(mpi_.world(), ranks) != job::kMpiSuccess ||
      mpi_.comm_rank(mpi_.world(), rank) != job::kMpiSuccess) {
    job::Log("a rank", "warning")
        .error("MPI_Comm_size or MPI_Comm_rank failed on MPI_COMM_WORLD; the job ends here");
    mpi_.abort(mpi_.world(), kAbortCode);
  }
  job_.rank = static_cast<std::uint32_t>(rank);
  job_.records.resize(static_cast<std::size_t>(ranks));
}

bool Session::compare(const job::JobRecord& record) {
  job::SafeCollectives collectives(mpi_, mpi_.world());
  if (const auto gathered = collectives.gather(record, job_.records); !gathered) {
    if (job_.rank == 0) {
      job_.log.warning("MPI_COMM_WORLD: " + gathered.error().message +
                       "; every call passes through");
    }
    return false;
  }
  job_.agreement = agree(job_.records);
  if (job_.rank == 0 && !job_.agreement.warning.empty()) job_.log.warning(job_.agreement.warning);
  return true;
}

void Session::read_configuration(job::JobRecord& record, job::JobSettings settings) {
  settings.cluster_named_by = "ALLEMANDE_CLUSTER: ";
  if (const auto done = job::set_up(job_, record, settings); !done) {
    return job_.log.error(done.error().message);
  }
  record.wants_stats = job_.options.stats.empty() ? 0 : 1;
  read_decisions();
  record.has_decisions = decisions_.found.empty() ? 0 : 1;
  record.has_profile = job_.options.profile.empty() ? 0 : 1;
  record.device_memory = DeviceMemory::may_occur(job_.options.device_memory) ? 1 : 0;
  const bool wanted = job::wants_threads(job_.options) || mpi_.threads_asked_for();
  record.threads = wanted && mpi_.threads() ? 1 : 0;
}

void Session::await_everybody() {
  const auto limit_s = std::max(job_.options.init_timeout_s, 1u);
  const auto done = mpi_.barrier(mpi_.world(), limit_s * base::kSecond);
  if (done) return;
  let_lower_ranks_abort_first(job_);
  job_.log.error(fmt::format(
      "{} s after MPI_Init, {}: at least one rank of this job runs without allemande, because the "
      "launcher did not forward LD_PRELOAD to it. Start the job with `allemande run -- mpirun "
      "...`, or forward it yourself: `mpirun -x LD_PRELOAD=...` (Open MPI), `mpiexec -genv "
      "LD_PRELOAD ...` (MPICH). Where ranks start that far apart, raise ALLEMANDE_INIT_TIMEOUT_S. "
      "The job ends here: it would hang.",
      limit_s, done.error().message));
  mpi_.abort(mpi_.world(), kAbortCode);
}

std::optional<int> Session::alltoall(const courier::AlltoallCall& call) {
  if (!accelerating_) return std::nullopt;
  const job::Doing::InCall in(job_.doing, call.name);
  const Buffers buffers{std::span(&call.recv, 1), std::span(&call.send, call.in_place ? 0 : 1)};
  return on_communicator(call, buffers, &call.recv,
                         [&](communicator::Communicator& found) { return found.alltoall(call); });
}

// How much there is to exchange is known to no rank for all: the communicator alone decides.
std::optional<int> Session::alltoall_blocks(const courier::BlockCall& call) {
  if (!accelerating_) return std::nullopt;
  const job::Doing::InCall in(job_.doing, call.name);
  return on_communicator(
      call, {call.recv, call.send}, nullptr,
      [&](communicator::Communicator& found) { return found.alltoall_blocks(call); });
}

std::optional<int> Session::alltoall_neighbours(const courier::NeighbourCall& call) {
  if (!accelerating_) return std::nullopt;
  const job::Doing::InCall in(job_.doing, call.name);
  return on_communicator(
      call, {call.recv, call.send}, nullptr,
      [&](communicator::Communicator& found) { return found.alltoall_neighbours(call); });
}

template <class Call, class Exchange>
std::optional<int> Session::on_communicator(const Call& call, const Buffers& buffers,
                                            const job::TypedBuffer* block, Exchange exchange) {
  reap();
  look_at_processors(job_);
  communicator::Communicator* communicator = nullptr;
  if (const int code = find_or_create(call.comm, communicator); code != job::kMpiSuccess) {
    return code;  // the library has raised it
  }
  std::optional<int> code;
  bool everywhere = true;  // in host memory
  if (communicator != nullptr && communicator->waits() != nullptr) {
    const int told = communicator->come(buffers, block);
    if (told != job::kMpiSuccess) return told;
  }
  if (communicator != nullptr && communicator->accelerates()) {
    if (in_host_memory(call.comm, buffers, everywhere) != job::kMpiSuccess) {
      return communicator->withdraw(
          call.name, base::io_error("MPI_Allreduce on where buffers lie has failed"));
    }
    if (everywhere) code = exchange(*communicator);
  }
  if (code) return code;
  const bool waits = communicator != nullptr && communicator->waits() != nullptr;
  if (call.taken != nullptr) {
    if (communicator == nullptr) {
      passes(call.taken, "library: one rank alone");
    } else if (!everywhere) {
      passes(call.taken, "library: buffers in GPU memory");
    } else if (waits) {
      passes(call.taken, "library: communicator used too little so far");
    } else if (communicator->accelerates()) {
      passes(call.taken, "library: nothing to exchange");
    } else {
      passes(call.taken, "library: " + communicator->obstacle());
    }
  }
  job_.stats.update([](job::StatsRecord& stats) { ++stats.passed_through; });
  if (waits) return communicator->waits()->by_library(call.native, block);
  return std::nullopt;
}

// Where a buffer lies is known to its rank alone: where GPU memory may turn up at all, the ranks
// agree before each call. A rank that has such a buffer knows what they will agree on: it goes with
// them even where the library does not tell it.
int Session::in_host_memory(job::CommHandle comm, const Buffers& buffers, bool& everywhere) {
  if (!job_.agreement.device_memory) return job::kMpiSuccess;
  std::uint64_t all = 1;
  for (const std::span<const job::TypedBuffer> side : buffers) {
    for (const job::TypedBuffer& buffer : side) {
      if (buffer.bytes() > 0 && in_device_memory_(buffer.base)) all = 0;
    }
  }
  everywhere = all != 0;
  const int code = mpi_.allreduce_min(comm, all);
  if (!everywhere) return job::kMpiSuccess;
  everywhere = all != 0;
  return code;
}

// What is known of it must be known on all ranks: where the library does not tell, the call fails
// rather than to go another way than on the others. Of MPI_COMM_WORLD everything is known.
int Session::describe(job::CommHandle comm, Shape& shape) const {
  if (comm == mpi_.world()) {
    shape = Shape(job_);
    return job::kMpiSuccess;
  }
  if (const int code = mpi_.is_intercommunicator(comm, shape.inter); code != job::kMpiSuccess)
    return code;
  if (const int code = mpi_.comm_size(comm, shape.ranks); code != job::kMpiSuccess) return code;
  if (const int code = mpi_.comm_rank(comm, shape.self); code != job::kMpiSuccess) return code;
  return shape.inter ? job::kMpiSuccess : mpi_.is_within_world(comm, shape.within_world);
}

int Session::find_or_create(job::CommHandle comm, communicator::Communicator*& found) {
  if (void* state = mpi_.state(comm)) {
    found = static_cast<communicator::Communicator*>(state);
    return job::kMpiSuccess;
  }
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = not_kept_.find(comm); known != not_kept_.end()) {
      found = known->second;
      return job::kMpiSuccess;
    }
  }
  Shape shape;
  if (const int code = describe(comm, shape); code != job::kMpiSuccess) return code;
  if (shape.ranks >= 2 || shape.inter) found = open(comm, shape);
  return job::kMpiSuccess;
}

communicator::Communicator* Session::open(job::CommHandle comm, const Shape& shape) {
  auto made = std::make_unique<communicator::Communicator>(
      job_, comm, static_cast<std::uint32_t>(shape.ranks), static_cast<std::uint32_t>(shape.self));
  communicator::Communicator* communicator = made.get();
  const bool kept = mpi_.set_state(comm, communicator) == job::kMpiSuccess;
  {
    const std::lock_guard lock(mutex_);
    communicators_.push_back(std::move(made));
    if (!kept) not_kept_[comm] = communicator;
  }
  if (shape.inter) {
    communicator->pass_through("it is an intercommunicator");
  } else if (!shape.within_world) {
    // They may run without allemande: nothing can be agreed on with them.
    communicator->pass_through("it has ranks of another job");
  } else {
    const std::string_view refusal =
        kept ? "" : "MPI does not keep what belongs to the communicator";
    // Nonblocking calls, where they are asked for, want a communicator that is up.
    const bool at_once = !ways::wants_trials(job_.options) || job::wants_threads(job_.options);
    const double slowed = job_.options.time_scale;
    // Which communicator it is all ranks know alike of this one alone: threads may come to others
    // in any order.
    if (at_once || (comm == mpi_.world() && wants_world_at_once(job_))) {
      communicator->bring_up(refusal);
    } else if (comm == mpi_.world()) {
      communicator->bring_up_when_due({tuning::DueByTime::of_small_blocks(slowed), refusal});
    } else {
      communicator->bring_up_when_due({tuning::DueByTime::of_long_calls(slowed),
                                       tuning::DueByBytes(host_rate_mbit_s(), slowed), refusal});
    }
  }
  return communicator;
}

// Most jobs have no other communicator than MPI_COMM_WORLD, and never ask.
double Session::host_rate_mbit_s() {
  std::call_once(rate_known_, [this] {
    if (!job_.cluster) return;
    host_rate_mbit_s_ = plan::tune(*job_.cluster, job_.hosts()).host_rate_mbit_s;
  });
  return host_rate_mbit_s_;
}

void Session::communicator_freed(void* state) {
  static_cast<communicator::Communicator*>(state)->life()->end();
}

void Session::forget(job::CommHandle comm) {
  if (void* state = mpi_.state(comm))
    static_cast<communicator::Communicator*>(state)->life()->let_go();
  const std::lock_guard lock(mutex_);
  const auto known = not_kept_.find(comm);
  if (known == not_kept_.end()) return;
  known->second->life()->end();
  not_kept_.erase(known);
}

// What communicators freed since the last call have left behind. A program may free one while an
// exchange on it is under way.
void Session::reap() {
  std::vector<std::unique_ptr<communicator::Communicator>> dead;
  {
    const std::lock_guard lock(mutex_);
    const auto first_dead = std::stable_partition(
        communicators_.begin(), communicators_.end(),
        [](const auto& one) { return !one->life()->ended() || !one->idle(); });
    std::move(first_dead, communicators_.end(), std::back_inserter(dead));
    communicators_.erase(first_dead, communicators_.end());
  }
  for (const auto& communicator : dead) {
    persistent_.leave(*communicator);
    communicator->close();
  }
  persistent_.reap();
}

void Session::passed_by(std::string_view function, std::string_view tool) const {
  if (!accelerating_ || job_.rank != 0) return;
  job_.log.warning(fmt::format(
      "{}: {} calls the MPI library's own function, past allemande: these calls are not "
      "accelerated. Preload it in front of allemande: LD_PRELOAD={}:LIBRARY, with what "
      "`allemande preload` prints as LIBRARY",
      function, tool, tool));
}

// A rank may still miss what this one has sent last: nobody closes sockets before everybody has
// come here, and until then the responder answers. Without a limit, as MPI_Finalize has none: a
// request that is still pending there hangs MPICH, and a rank that has given up, or that others
// believe lost, may be alive and late.
void Session::finish() {
  const job::Doing::InCall in(job_.doing, "MPI_Finalize");
  // A rank waits for one that waits for it elsewhere, unless that has left where it has nothing to
  // do.
  for (const auto& communicator : communicators_) {
    if (communicator->idle()) communicator->leave();
  }
  for (const auto& communicator : communicators_) communicator->leave();
  persistent_.settle();
  if (accelerating_) {
    const base::Nanos patience = job::peer_timeout(job_.options);
    const auto settled = mpi_.barrier(mpi_.world(), patience, [&] {
      job_.log.warning(fmt::format("MPI_Finalize: not every rank has come within {} s, and waits",
                                   patience / base::kSecond));
    });
    if (!settled) job_.log.warning("MPI_Finalize: " + settled.error().message);
    for (const auto& communicator : communicators_) communicator->raise_late_failure();
    persistent_.raise_late_failures();
    // The states stay: MPI_Finalize may yet report communicators as freed.
    for (const auto& communicator : communicators_) communicator->close();
    persistent_.close();
    if (job_.has_driver()) {
      const auto* driver = job_.driver().value();
      const auto endpoint = driver->endpoint_counters();
      const auto unknown = driver->driver_counters().unknown_set;
      job_.stats.update([&](job::StatsRecord& stats) {
        stats.endpoint = endpoint;
        stats.rejected_unknown = unknown;
      });
    }
    if (settled) communicator::check_description(job_, mpi_.world());
    if (settled && job_.agreement.stats) write_stats(job_, mpi_);
    store_decisions();
  } else if (job_.agreement.stats) {
    write_stats(job_, mpi_);
  }
  ends("at MPI_Finalize");
  job_.close_driver();
  accelerating_ = false;
  mpi_.close();
}

}  // namespace alm::session
