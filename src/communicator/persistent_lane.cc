#include "communicator/persistent_lane.h"

#include <optional>
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

// Each start packs anew.
template <class Stage, class Carry>
void PersistentLane::watch(const char* function, std::shared_ptr<job::PersistentRequest> request,
                           Stage stage, Carry carry) {
  const auto exchange = [this, function, stage, carry]() -> job::Outcome {
    job_.stats.update([](job::StatsRecord& stats) { ++stats.nonblocking; });
    own_.courier_.begin_call(function);
    if (const base::Status ready = stage(); !ready) {
      return {job::kMpiSuccess, own_.failure_.withdraw(function, ready.error())};
    }
    return carry(io::monotonic_now());
  };
  const auto looks = std::make_shared<PersistentWatch>(
      std::move(request),
      [this, function, exchange] { return own_.failure_.guarded(function, exchange); });
  own_.queue_.watch([looks](bool called) { return looks->look(called); });
}

void PersistentLane::keep(const courier::AlltoallCall& call, const Communicator& parent,
                          std::shared_ptr<job::PersistentRequest> request) {
  const bool alike = parent.accelerates() && parent.courier_.has_udp() == own_.courier_.has_udp() &&
                     parent.ways_.combining().size() == own_.ways_.combining().size();
  const auto found = alike ? parent.trials_.decided(call.bytes()) : std::nullopt;
  const tuning::Way way = found.value_or(own_.ways_.model_way(call.bytes()));
  const auto kept = std::make_shared<KeptAlltoall>(*job_.mpi, call);
  watch(
      call.name, std::move(request),
      // As all calls, it refuses other sizes.
      [this, kept] {
        return kept->staging.begin_even(job_.bootstrap, kept->call, own_.members_.ranks,
                                        own_.members_.self);
      },
      [this, kept, way](base::Nanos begin) { return own_.carry_out(kept, way, begin); });
}

void PersistentLane::keep(const courier::BlockCall& call,
                          std::shared_ptr<job::PersistentRequest> request) {
  const auto kept = std::make_shared<KeptBlocks>(*job_.mpi, call);
  watch(
      call.name, std::move(request),
      [this, kept] {
        return courier::packed(kept->staging.begin(job_.bootstrap, kept->call, own_.members_.ranks,
                                                   own_.members_.self));
      },
      [this, kept](base::Nanos begin) { return own_.carry_out(kept, begin); });
}

}  // namespace alm::communicator
