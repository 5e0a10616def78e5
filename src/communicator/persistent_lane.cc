#include "communicator/persistent_lane.h"

#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include "transport/io/endpoint.h"

namespace alm::communicator {

PersistentLane::PersistentLane(job::Job& job, job::CommHandle comm, const Communicator& parent)
    : job_(job), own_(job, comm, parent.members_.ranks, parent.members_.self, parent.life_) {
  own_.bring_up();
}

bool PersistentLane::is_wanted(const Communicator& parent, std::uint64_t bytes) {
  return parent.accelerates() ? parent.trials_.decided(bytes).has_value()
                              : !parent.trials_.leaves_to_library(bytes);
}

bool PersistentLane::carries(bool blocks) const {
  return own_.accelerates() && own_.queue_.begun() && (!blocks || own_.courier_.has_udp());
}

template <class Kept, class Carry>
job::Outcome PersistentLane::exchange(const std::shared_ptr<Kept>& kept, const Carry& carry) {
  const char* const function = kept->call.name;
  courier::Failure& failure = own_.failure_;
  if (failure.happened()) return {job::kMpiSuccess, failure.error()};
  try {
    job_.stats.update([](job::StatsRecord& stats) { ++stats.nonblocking; });
    own_.courier_.begin_call(function);
    base::Status ready;
    if constexpr (std::is_same_v<Kept, KeptAlltoall>) {
      ready = own_.stage(kept->staging, kept->call);  // as all calls, it refuses other sizes
    } else {
      ready = courier::packed(
          kept->staging.begin(job_.bootstrap, kept->call, own_.members_.ranks, own_.members_.self));
    }
    if (!ready) return {job::kMpiSuccess, failure.withdraw(function, ready.error())};
    own_.courier_.uses(kept);
    job::Outcome outcome = carry(*kept);
    own_.courier_.uses(nullptr);
    return outcome;
  } catch (const std::exception& thrown) {
    return {job::kMpiSuccess, failure.withdraw(function, base::io_error(thrown.what()))};
  }
}

template <class Kept, class Carry>
void PersistentLane::watch(std::shared_ptr<Kept> kept,
                           std::shared_ptr<job::PersistentRequest> request, Carry carry) {
  const auto looks = std::make_shared<PersistentWatch>(
      std::move(request), [this, kept, carry] { return exchange(kept, carry); });
  own_.queue_.watch([looks](bool called) { return looks->look(called); });
}

void PersistentLane::keep(const courier::AlltoallCall& call, const Communicator& parent,
                          std::shared_ptr<job::PersistentRequest> request) {
  const bool alike = parent.accelerates() && parent.courier_.has_udp() == own_.courier_.has_udp() &&
                     parent.ways_.combining().size() == own_.ways_.combining().size();
  const auto found = alike ? parent.trials_.decided(call.bytes()) : std::nullopt;
  const tuning::Way way = found.value_or(own_.ways_.model_way(call.bytes()));
  watch(std::make_shared<KeptAlltoall>(*job_.mpi, call), std::move(request),
        [this, way](KeptAlltoall& kept) {
          const base::Nanos begin = io::monotonic_now();
          own_.report_.announce(kept.call.bytes());
          job::Outcome outcome = own_.carry(kept.call, kept.staging, way);
          own_.taken_.note_end(kept.call.name, way, kept.call.bytes(), begin);
          return outcome;
        });
}

void PersistentLane::keep(const courier::BlockCall& call,
                          std::shared_ptr<job::PersistentRequest> request) {
  watch(std::make_shared<KeptBlocks>(*job_.mpi, call), std::move(request),
        [this](KeptBlocks& kept) {
          const base::Nanos begin = io::monotonic_now();
          const tuning::Way way = own_.ways_.blocks_way();
          own_.report_.announce_blocks(kept.call.name);
          job::Outcome outcome = own_.carry(kept.call, kept.staging, way, courier::Counts::kUntold);
          own_.taken_.note_end(kept.call.name, way, kept.call.mean_bytes(), begin);
          return outcome;
        });
}

}  // namespace alm::communicator
