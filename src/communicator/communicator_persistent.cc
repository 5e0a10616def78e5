// The part of communicator.h for persistent calls.
#include <utility>

#include "communicator/communicator.h"
#include "transport/io/endpoint.h"

namespace alm::communicator {

bool Communicator::prefers_ours(std::uint64_t bytes) const {
  return accelerates() ? trials_.decided(bytes).has_value() : !trials_.leaves_to_library(bytes);
}

bool Communicator::can_persist(bool blocks) const {
  return accelerates() && queue_.begun() && (!blocks || courier_.has_udp());
}

template <class Kept, class Carry>
void Communicator::watch(std::shared_ptr<Kept> kept,
                         std::shared_ptr<job::PersistentRequest> request, Carry carry) {
  const auto exchange = [this, kept, carry] {
    const char* const function = kept->call.name;
    return guarded(function, [&]() -> job::Outcome {
      job_.stats.update([](job::StatsRecord& stats) { ++stats.nonblocking; });
      courier_.begin_call(function);
      if (const auto ready = packed(
              kept->staging.begin(job_.bootstrap, kept->call, members_.ranks, members_.self));
          !ready) {
        return {job::kMpiSuccess, failure_.withdraw(function, ready.error())};
      }
      courier_.uses(kept);
      job::Outcome outcome = carry(*kept);
      courier_.uses(nullptr);
      return outcome;
    });
  };
  const auto looks = std::make_shared<PersistentWatch>(std::move(request), exchange);
  queue_.watch([looks](bool called) { return looks->look(called); });
}

void Communicator::persist(const courier::AlltoallCall& call, const Communicator& like,
                           std::shared_ptr<job::PersistentRequest> request) {
  const bool alike = like.accelerates() && like.courier_.has_udp() == courier_.has_udp() &&
                     like.ways_.combining().size() == ways_.combining().size();
  const auto found = alike ? like.trials_.decided(call.bytes()) : std::nullopt;
  const tuning::Way way = found.value_or(ways_.model_way(call.bytes()));
  watch(std::make_shared<KeptAlltoall>(*job_.mpi, call), std::move(request),
        [this, way](KeptAlltoall& kept) {
          const base::Nanos begin = io::monotonic_now();
          report_.announce(kept.call.bytes());
          job::Outcome outcome = carry(kept.call, kept.staging, way);
          taken_.note_end(kept.call.name, way, kept.call.bytes(), begin);
          return outcome;
        });
}

void Communicator::persist_blocks(const courier::BlockCall& call,
                                  std::shared_ptr<job::PersistentRequest> request) {
  watch(std::make_shared<KeptBlocks>(*job_.mpi, call), std::move(request),
        [this](KeptBlocks& kept) {
          const base::Nanos begin = io::monotonic_now();
          report_.announce_blocks(kept.call.name);
          job::Outcome outcome =
              carry(kept.call, kept.staging, ways_.blocks_way(), courier::Counts::kUntold);
          taken_.note_end(kept.call.name, ways_.blocks_way(), kept.call.mean_bytes(), begin);
          return outcome;
        });
}

}  // namespace alm::communicator
