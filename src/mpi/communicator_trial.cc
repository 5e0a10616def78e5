// Which way a communicator's MPI_Alltoall takes: ours, the MPI library's own, or messages of that
// library in an order of ours (trial.h, ways.h).
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "mpi/communicator.h"

namespace alm::mpi {
namespace {

// MPI libraries connect processes when they first send to each other, in 5 to 10 ms over TCP
// (measured in the lab). The library's own way does it for the blocks it does not combine.
constexpr base::Nanos kConnectionTime = 5 * base::kMillisecond;
constexpr std::uint64_t kCombinedByLibrariesMax = 256;

bool opens_connections(tuning::Way way, std::uint64_t bytes) {
  return way.kind == tuning::Way::Kind::kMessages && bytes <= kCombinedByLibrariesMax &&
         way != tuning::message_way(plan::MessageOrder::kBruck);
}

double milliseconds(base::Nanos time) { return static_cast<double>(time) / 1e6; }

base::Nanos nanos(double seconds) { return static_cast<base::Nanos>(seconds * base::kSecond); }

}  // namespace

// Who names an algorithm gets it.
bool Communicator::on_trial() const {
  return job_.options.trials && job_.options.algorithm == kAutomatic;
}

// Where the model's choice changes within a size class, each part has a trial of its own.
Communicator::Tried& Communicator::tried(std::uint64_t bytes) {
  const tuning::Way model = model_way(bytes);
  const auto key = std::tuple(static_cast<int>(std::bit_width(bytes)), model.kind, model.index);
  if (const auto found = tried_.find(key); found != tried_.end()) return found->second;
  tuning::WaysWanted wanted;
  wanted.ranks = ranks_;
  wanted.bytes = bytes;
  if (has_phases(bytes)) {
    wanted.packet_bytes = packet_bytes_;
    wanted.members = placement_.hosts();
    wanted.member_bytes = host_block(bytes);
    wanted.phased = phased_;
    wanted.model = choose_phased(bytes);
  }
  Tried made;
  made.bytes = bytes;
  made.ways = tuning::ways_to_try(wanted);
  if (messages_prepared_ && !messages_) {
    std::erase_if(made.ways,
                  [](tuning::Way way) { return way.kind == tuning::Way::Kind::kMessages; });
  }
  std::vector<tuning::Kin> kin;
  for (const tuning::Way way : made.ways) kin.push_back(tuning::kin_of(way));
  made.trial = tuning::Trial(kin, least_time(bytes, topology::Packing::kShared));
  const base::Nanos uncombined = least_time(bytes, topology::Packing::kPerMessage);
  for (std::size_t i = 0; i < made.ways.size(); ++i) {
    if (!tuning::combines(made.ways[i])) made.trial.needs(i, uncombined);
    if (opens_connections(made.ways[i], bytes)) {
      made.trial.opens(i, base::Nanos{ranks_ - 1} * kConnectionTime);
    }
  }
  adopt(made);
  return tried_.emplace(key, std::move(made)).first->second;
}

// By the links in the cluster file; 0: not known.
base::Nanos Communicator::least_time(std::uint64_t bytes, topology::Packing packing) const {
  if (hosts_.empty()) return 0;
  const std::uint32_t hosts = placement_.hosts();
  if (placement_.equal()) {
    const std::uint64_t each = placement_.count(0);
    return nanos(
        topology::alltoall_limit_seconds(*job_.cluster, hosts_, each * each * bytes, packing));
  }
  std::vector<std::uint64_t> amounts;
  for (std::uint32_t from = 0; from < hosts; ++from) {
    for (std::uint32_t to = 0; to < hosts; ++to) {
      amounts.push_back(std::uint64_t{placement_.count(from)} * placement_.count(to) * bytes);
    }
  }
  return nanos(topology::traffic_limit_seconds(*job_.cluster, hosts_, amounts, packing));
}

// All ranks come here in the same call, the first that is to take messages: a communicator that is
// used once or twice takes nothing of the library's for it.
bool Communicator::prepare_messages() {
  if (!messages_prepared_) {
    messages_prepared_ = true;
    const bool made = messages_ || open_messages().empty();
    std::uint64_t everybody = made ? 1 : 0;
    if (job_.ops.allreduce_min(comm_, everybody) != kMpiSuccess) everybody = 0;
    if (everybody == 0 && mode_ != Mode::kMessages) messages_.reset();
  }
  return messages_ != nullptr;
}

// All collective calls are counted, in the order of the program.
void Communicator::begin_call() {
  ++calls_;
  note_way(std::nullopt);
}

// A rank whose size sends it another way over UDP is to learn that this one is not coming.
void Communicator::note_way(std::optional<std::uint64_t> elsewhere) {
  if (group_) group_->begin(calls_, elsewhere);
  if (node_) node_->node().begin(calls_, elsewhere);
}

int Communicator::try_out(const AlltoallCall& call) {
  Tried& tried = this->tried(call.bytes());
  while (tried.ways[tried.trial.way()].kind == tuning::Way::Kind::kMessages &&
         !prepare_messages()) {
    tried.trial.rule_out(tried.trial.way());
  }
  const tuning::Way way = tried.ways[tried.trial.way()];
  if (tuning::kin_of(way) != tuning::Kin::kUdp) note_way(call.bytes());
  const base::Nanos begin = io::monotonic_now();
  const int code = way == tuning::kNativeWay ? call.native() : accelerate(call, way);
  if (way == tuning::kNativeWay) job_.stats.update([](StatsRecord& stats) { ++stats.native; });
  if (code != kMpiSuccess) return code;
  note_time(tried, io::monotonic_now() - begin);
  return code;
}

// The way on trial has been taken, and took so long on this rank.
void Communicator::note_time(Tried& tried, base::Nanos time) {
  const bool decided = tried.trial.decided();
  tried.trial.took(time);
  const bool goes_on = decided && !tried.trial.decided();
  if ((goes_on || (decided && tried.trial.due())) && job_.rank == 0) tried.kept = latest(tried);
  if (!tried.trial.due()) return;
  if (agree(tried.trial) && (!decided || !tried.trial.decided())) tell(tried);
}

// On the times of the slowest rank. Collective.
bool Communicator::agree(tuning::Trial& trial) {
  std::vector<std::uint64_t> words(trial.times().begin(), trial.times().end());
  const base::Nanos begin = io::monotonic_now();
  if (job_.ops.allreduce_max(comm_, words) != kMpiSuccess) {
    trial.cannot_agree();
    return false;
  }
  trial.agree(std::vector<base::Nanos>(words.begin(), words.end()));
  trial.agreed(io::monotonic_now() - begin);
  return true;
}

// After a decision, where it is the first or another than before, or when one is reopened.
void Communicator::tell(Tried& tried) const {
  const tuning::Trial& trial = tried.trial;
  if (self_ != 0 || !job_.log.shows(LogLevel::kInfo)) return;
  if (!trial.decided()) {
    if (trial.reopened() == tried.told_reopened) return;
    tried.told_reopened = trial.reopened();
    tried.told_way.reset();
    job_.log.info(subject_text(tried) + "takes longer than when it was decided; tried anew");
    return;
  }
  if (tried.told_way == trial.way()) return;
  tried.told_way = trial.way();
  std::string text = fmt::format("{}{} from here on: {} (", subject_text(tried),
                                 way_text(tried.ways[trial.way()]), reason(tried));
  for (std::size_t way = 0; way < tried.ways.size(); ++way) {
    if (way > 0) text += "; ";
    text += way_name(tried.ways[way]);
    text += trial.time(way) == 0 ? ": not tried"
                                 : fmt::format(": {:.3g} ms, seen {}x",
                                               milliseconds(trial.time(way)), trial.sightings(way));
  }
  job_.log.info(text + ")");
}

}  // namespace alm::mpi
