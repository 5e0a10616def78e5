#include "communicator/trials.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "job/safe_collectives.h"
#include "tuning/other_sizes.h"
#include "ways/plan_settings.h"

namespace alm::communicator {
namespace {

// Over TCP MPI libraries connect two processes in 5 to 10 ms (measured in the lab).
constexpr base::Nanos kConnectionTime = 5 * base::kMillisecond;
// The first messages on a communicator of its own, which Open MPI has for each algorithm.
constexpr base::Nanos kNewCommunicatorTime = 200 * base::kMicrosecond;
// So small blocks libraries combine as well, and send few messages.
constexpr std::uint64_t kLibrariesCombine = 256;

base::Nanos nanos(double seconds) { return static_cast<base::Nanos>(seconds * base::kSecond); }

}  // namespace

bool Trials::on() const { return ways::wants_trials(job_.options); }

bool Trials::on_for_blocks() const { return on() && job_.mpi != nullptr; }

Trials::Key Trials::key_of(std::uint64_t bytes) const {
  const tuning::Way model = ways_.model_way(bytes);
  return {tuning::SizeClass(bytes), model.kind, model.index};
}

std::vector<base::Transport> Trials::transports_of(const std::vector<tuning::Way>& ways) const {
  std::vector<base::Transport> out;
  for (const tuning::Way way : ways) out.push_back(ways_.transport_of(way));
  return out;
}

Tried& Trials::of(std::uint64_t bytes, bool messages_refused) {
  const Key key = key_of(bytes);
  if (const auto found = tried_.find(key); found != tried_.end()) {
    found->second.least_bytes = std::min(found->second.least_bytes, bytes);
    return found->second;
  }
  Tried made;
  made.bytes = made.least_bytes = bytes;
  made.ways = ways_.candidates(bytes);
  if (messages_refused) {
    std::erase_if(made.ways,
                  [](tuning::Way way) { return way.kind == tuning::Way::Kind::kMessages; });
  }
  made.trial =
      tuning::Trial(transports_of(made.ways), least_time(bytes, topology::Packing::kShared),
                    job_.options.time_scale);
  if (!members_.sites.empty()) made.trial.keep_to_rates();
  const base::Nanos uncombined = least_time(bytes, topology::Packing::kPerMessage);
  for (std::size_t i = 0; i < made.ways.size(); ++i) {
    const tuning::Way way = made.ways[i];
    made.predicted.push_back(ways_.foreseen(way, bytes).time);
    made.trial.predicts(i, made.predicted[i]);
    if (way == tuning::kNativeWay) made.trial.set_librarys_own(i);
    if (!tuning::combines(way)) made.trial.needs(i, uncombined);
    if (tuning::opens_connections(way, bytes, ways_.transport_of({}))) {
      made.trial.opens(i, base::Nanos{members_.ranks - 1} * kConnectionTime);
    } else if (tuning::is_told(way)) {
      made.trial.opens(i, kNewCommunicatorTime);
    }
  }
  risk(made, bytes);
  hear(made);
  if (!adopt(made) && ways_.has_forecast()) report_.begins(made);
  return tried_.emplace(key, std::move(made)).first->second;
}

Tried& Trials::of_blocks(Blocks blocks, std::uint64_t load, base::Nanos limit) {
  if (rates_refuted_) limit = 0;
  const std::pair key(blocks, tuning::SizeClass(load));
  if (const auto found = tried_blocks_.find(key); found != tried_blocks_.end()) {
    found->second.trial.set_limit(limit);
    return found->second;
  }
  Tried made;
  made.bytes = load;
  made.any_size = true;
  made.blocks = blocks;
  made.ways = ways_.candidates_for_blocks(load);
  made.trial = tuning::Trial(transports_of(made.ways), limit, job_.options.time_scale);
  made.trial.keep_to_rates();
  risk(made, load / std::max(1u, members_.ranks - 1));
  hear(made);
  adopt(made);
  return tried_blocks_.emplace(key, std::move(made)).first->second;
}

bool Trials::takes_ours(std::uint64_t load) const {
  if (load == 0) return true;
  const auto found = tried_blocks_.find({Blocks::kOfAnySize, tuning::SizeClass(load)});
  return found == tried_blocks_.end() || found->second.way() != tuning::kNativeWay;
}

bool Trials::chose_library(Blocks blocks, std::uint64_t load) const {
  const auto found = tried_blocks_.find({blocks, tuning::SizeClass(load)});
  if (found == tried_blocks_.end() || !found->second.trial.has_decided()) return false;
  const Tried& tried = found->second;
  return tried.ways[tried.trial.chosen()] == tuning::kNativeWay;
}

// The least time the links of the cluster file allow; 0: not known.
base::Nanos Trials::least_time(std::uint64_t bytes, topology::Packing packing) const {
  if (members_.hosts.empty() || rates_refuted_) return 0;
  const plan::Placement& placement = members_.placement;
  if (placement.equal()) {
    return nanos(topology::alltoall_limit_seconds(*job_.cluster, members_.hosts,
                                                  members_.host_block(bytes), packing));
  }
  std::vector<std::uint64_t> amounts;
  for (std::uint32_t from = 0; from < placement.hosts(); ++from) {
    for (std::uint32_t to = 0; to < placement.hosts(); ++to) {
      amounts.push_back(std::uint64_t{placement.count(from)} * placement.count(to) * bytes);
    }
  }
  return nanos(topology::traffic_limit_seconds(*job_.cluster, members_.hosts, amounts, packing));
}

void Trials::take_library_calls(tuning::LibraryCalls calls) {
  auto words = calls.words();
  if (!job::SafeCollectives(job_.bootstrap, comm_).most(words)) return;
  calls.agree(words);
  held_load_ =
      calls.held([this](std::uint64_t bytes) { return stall_of(bytes); }) * (members_.ranks - 1);
}

base::Nanos Trials::stall_of(std::uint64_t bytes) const {
  const std::uint64_t block = bytes <= tuning::TrialRules::kCombinedBytes ? 0 : bytes;
  return tuning::stall_of(std::uint64_t{members_.ranks - 1} * members_.placement.most(), block,
                          job_.options.time_scale);
}

// Where ours goes over UDP the messages of the library, and ours by it, go over TCP on the same
// network.
void Trials::risk(Tried& tried, std::uint64_t bytes) const {
  tried.stalls.assign(tried.ways.size(), 0);
  if (!ways_.goes_over_udp({})) return;
  const base::Nanos stall = stall_of(bytes);
  for (std::size_t i = 0; i < tried.ways.size(); ++i) {
    if (ways_.goes_over_udp(tried.ways[i])) continue;
    tried.stalls[i] = stall;
    tried.trial.expects(i, stall);
  }
}

// What other sizes have shown of the ways. Queues that have held larger blocks hold these;
// time-outs of smaller blocks are no shorter here.
void Trials::hear(Tried& tried) const {
  // A burst has twice the packets, as many as any load of the class. Calls of the library vouch for
  // the class of theirs.
  const bool held =
      held_load_ > 0 && tuning::SizeClass(load_of(tried)) <= tuning::SizeClass(held_load_);
  for (std::size_t i = 0; i < tried.ways.size(); ++i) {
    if (tried.stalls[i] == 0) continue;
    if (tried.any_size) {
      tried.trial.expects(i, tried.stalls[i], {0, 0, held});
      continue;
    }
    tuning::OtherSizes others(tried.bytes,
                              base::slowed(tuning::TrialRules::kStall, job_.options.time_scale));
    for (const auto& [key, other] : tried_) {
      const auto same = std::find(other.ways.begin(), other.ways.end(), tried.ways[i]);
      const tuning::Standings& standings = other.trial.standings();
      if (&other == &tried || same == other.ways.end() || standings.ways_seen() == 0) continue;
      const auto way = static_cast<std::size_t>(same - other.ways.begin());
      others.add(other.bytes, standings[way].seen.shown(), standings.least());
    }
    tuning::Heard heard = others.heard();
    heard.held = held;
    tried.trial.expects(i, others.safe() ? 0 : tried.stalls[i], heard);
  }
}

void Trials::spread(const Tried& news) {
  for (auto& [key, tried] : tried_) {
    if (&tried != &news) hear(tried);
  }
}

// What the fullest rank carries.
std::uint64_t Trials::load_of(const Tried& tried) const {
  return tried.any_size ? tried.bytes : tried.bytes * (members_.ranks - 1);
}

// Over UDP alone, and not between sites, where what is under way at once is another question. Where
// a time-out takes about as long as what a burst may lose, nothing is gained.
void Trials::burst(Tried& tried) {
  const tuning::Standings& ways = tried.trial.standings();
  if (!ways_.goes_over_udp({}) || !members_.sites.empty()) return;
  if (!tried.bursts.due(ways.calls()) || !tuning::worth_a_burst(ways, tried.stalls)) return;
  tried.bursts.begin(ways.calls());
  overflow_before_ = overflow();
  courier_.burst(load_of(tried) / (members_.ranks - 1), ways.least());
}

std::uint64_t Trials::overflow() const {
  return job_.has_driver() ? job_.driver().value()->endpoint_counters().receive_overflow : 0;
}

base::Status Trials::judge_burst(Tried& tried) {
  wire::FillCount mine = courier_.traffic().fills;  // none on ranks that lead nobody
  mine.received += overflow() - overflow_before_;   // has passed all queues
  std::vector<wire::FillCount> all(members_.ranks);
  if (auto told = job::SafeCollectives(job_.bootstrap, comm_).gather(mine, all); !told) return told;
  const auto lost = tuning::lost_of(all);
  tried.bursts.agree(lost == 0);
  if (lost) report_.burst(tried, *lost);
  if (!tried.bursts.held()) return {};
  held_load_ = std::max(held_load_, load_of(tried));
  for (auto& [key, other] : tried_) hear(other);
  for (auto& [key, other] : tried_blocks_) hear(other);
  return {};
}

// Ranks that lead nobody wait in the call for their leader's burst: it is no sighting.
base::Status Trials::took(const char* function, Tried& tried, base::Nanos time) {
  if (tried.bursts.to_agree()) return judge_burst(tried);
  tuning::Trial& trial = tried.trial;
  const bool decided = trial.decided();
  trial.took(time);
  const bool goes_on = decided && !trial.decided();
  if ((goes_on || (decided && trial.due())) && job_.rank == 0) tried.kept = latest(tried);
  if (!trial.due()) return {};
  if (auto agreed = agree(function, trial); !agreed) return agreed;
  if (!tried.any_size) spread(tried);
  hold_against_file(tried);
  if (job_.profile_or_null() != nullptr && tuning::refutes_predictions(trial))
    report_.refutes_profile(tried);
  if (tried.adopted && trial.reopened() > 0) {
    report_.refutes_decision(tried);
    tried.adopted.reset();
  }
  if (!decided || !trial.decided()) report_.tell(tried);
  return {};
}

// Calls of a class may have been smaller than the first one, for which the limit of its trial is.
// Blocks of any size have limits of their own each, and the library may go over other links.
void Trials::hold_against_file(const Tried& tried) {
  const tuning::Standings& ways = tried.trial.standings();
  if (tried.any_size || !ways.refutes_limit()) return;
  const base::Nanos limit = least_time(tried.least_bytes, topology::Packing::kShared);
  if (base::ratio(ways.least(), limit) >= tuning::TrialRules::kRefuted) return;
  report_.refutes_limit(tried);
  if (!ways_.goes_over_udp(tried.ways[ways.fastest()])) return;
  rates_refuted_ = true;
  for (auto& [key, other] : tried_) other.trial.set_limit(std::nullopt);
  for (auto& [key, other] : tried_blocks_) other.trial.set_limit(std::nullopt);
  if (job_.has_driver()) job_.driver().value()->refute_rate();
}

// Agrees on the times of the slowest rank.
base::Status Trials::agree(const char* function, tuning::Trial& trial) const {
  std::vector<std::uint64_t> words(trial.times().begin(), trial.times().end());
  const base::Nanos begin = io::monotonic_now();
  if (auto agreed = failure_.agree_on_most(function, words); !agreed) return agreed;
  trial.agree(std::vector<base::Nanos>(words.begin(), words.end()));
  trial.agreed(io::monotonic_now() - begin);
  return {};
}

// MPI messages of nonblocking calls would mix with those of other calls.
std::optional<tuning::Way> Trials::decided(std::uint64_t bytes) const {
  const tuning::Way model = ways_.model_way(bytes);
  const tuning::Way ours = model.kind == tuning::Way::Kind::kMessages ? tuning::Way{} : model;
  if (!on()) return ours;
  const auto found = tried_.find(key_of(bytes));
  if (found == tried_.end() || !found->second.trial.has_decided()) {
    return leaves_to_library(bytes) ? std::nullopt : std::optional(ours);
  }
  const tuning::Way way = found->second.ways[found->second.trial.chosen()];
  if (way.kind == tuning::Way::Kind::kNative) return std::nullopt;
  return way.kind == tuning::Way::Kind::kMessages ? ours : way;
}

bool Trials::leaves_to_library(std::uint64_t bytes) const {
  return on() && job_.options.progress == "auto" && bytes <= kLibrariesCombine;
}

tuning::Decision Trials::subject(const Tried& tried) const {
  const tuning::SizeClass sizes(tried.bytes);
  tuning::Decision decision;
  decision.shape = job_.shape;
  decision.calls = std::string(tried.calls());
  decision.ranks = members_.ranks;
  decision.hosts = members_.placement.hosts();
  decision.least_bytes = sizes.least();
  decision.most_bytes = sizes.most();
  for (std::size_t i = 0; i < tried.ways.size(); ++i) {
    const tuning::Way way = tried.ways[i];
    // The packets of blocks of any size depend on all sizes, which this rank does not know.
    const std::uint64_t packets = tried.any_size ? 0 : ways_.packets_of(way, tried.bytes);
    decision.ways.push_back({ways_.key_of(way), ways_.name_of(way), tried.trial.time(i),
                             static_cast<std::uint32_t>(tried.trial.sightings(i)), packets,
                             tried.any_size ? 0 : tried.predicted[i]});
  }
  return decision;
}

// Takes over the decision of an earlier job of the same shape.
bool Trials::adopt(Tried& tried) const {
  const tuning::Decision wanted = subject(tried);
  const auto known =
      std::find_if(job_.known.begin(), job_.known.end(),
                   [&](const tuning::Decision& one) { return tuning::same_subject(one, wanted); });
  if (known == job_.known.end()) return false;
  std::vector<base::Nanos> times;
  std::optional<std::size_t> chosen;
  for (std::size_t i = 0; i < wanted.ways.size(); ++i) {
    const tuning::Decision::Way* same = known->way(wanted.ways[i].key);
    times.push_back(same != nullptr && tuning::counts(*known, *same) ? same->time : 0);
    if (times.back() > 0 && wanted.ways[i].key == known->chosen) chosen = i;
  }
  if (!chosen) return false;
  tried.trial.adopt(*chosen, times);
  tried.adopted = *known;
  report_.adopted(tried, tried.ways[*chosen], known->why);
  return true;
}

// Rank 0 of the job writes the file.
void Trials::record() const {
  if (job_.rank != 0) return;
  for (const auto& [key, tried] : tried_) record(tried);
  for (const auto& [key, tried] : tried_blocks_) record(tried);
}

void Trials::record(const Tried& tried) const {
  // A trial that was just reopened knows less than it did before.
  const bool open = !tried.trial.decided() && tried.trial.reopened() > 0;
  if (auto found = open ? tried.kept : latest(tried))
    job_.record(std::move(*found), tried.trial.has_decided());
}

// What this trial has found, and how often this job and those before have seen each way.
std::optional<tuning::Decision> Trials::latest(const Tried& tried) const {
  const auto way = tuning::way_found(tried.trial);
  if (!way) return std::nullopt;
  tuning::Decision decision = subject(tried);
  decision.chosen = decision.ways[*way].key;
  decision.why = tuning::why_chosen(tried.trial);
  if (!tried.adopted) return decision;
  for (tuning::Decision::Way& one : decision.ways) {
    const tuning::Decision::Way* before = tried.adopted->way(one.key);
    if (one.time > 0 && before != nullptr) one.seen += before->seen;
  }
  return decision;
}

}  // namespace alm::communicator
