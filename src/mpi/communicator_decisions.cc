// What a communicator has tried and decided, to and from the decision file.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>

#include "mpi/communicator.h"

namespace alm::mpi {

tuning::Decision Communicator::subject(const Tried& tried) const {
  std::set<std::string_view> hosts;
  for (const auto& record : records_) hosts.insert(host_of(record.host));
  tuning::Decision decision;
  decision.shape = job_.shape;
  decision.calls = std::string(tried.any_size ? tuning::kCallsOfAnySize : tuning::kCallsOfOneSize);
  decision.ranks = ranks_;
  decision.hosts = static_cast<std::uint32_t>(hosts.size());
  const auto size_class = static_cast<int>(std::bit_width(tried.bytes));
  decision.least_bytes = std::uint64_t{1} << (size_class - 1);
  decision.most_bytes = 2 * decision.least_bytes - 1;
  for (std::size_t i = 0; i < tried.ways.size(); ++i) {
    const tuning::Way way = tried.ways[i];
    tuning::Decision::Way entry{way_name(way), tried.trial.time(i),
                                static_cast<std::uint32_t>(tried.trial.sightings(i)), 0};
    if (tried.any_size) {
      // Packets are for who knows the sizes.
    } else if (group_ && way.kind == tuning::Way::Kind::kPhased) {
      entry.packets =
          plan::traffic_of(phased_[way.index], host_block(tried.bytes), packet_bytes_).packets;
    } else if (group_ && way.kind == tuning::Way::Kind::kRounds) {
      entry.packets =
          plan::direct_traffic(placement_.hosts(), host_block(tried.bytes), packet_bytes_).packets;
    }
    decision.ways.push_back(std::move(entry));
  }
  return decision;
}

// An earlier job of the same shape has tried this.
void Communicator::adopt(Tried& tried) {
  const tuning::Decision wanted = subject(tried);
  const auto known =
      std::find_if(job_.known.begin(), job_.known.end(),
                   [&](const tuning::Decision& one) { return tuning::same_subject(one, wanted); });
  if (known == job_.known.end()) return;
  std::vector<base::Nanos> times;
  std::optional<std::size_t> chosen;
  for (std::size_t i = 0; i < wanted.ways.size(); ++i) {
    const auto same = std::find_if(
        known->ways.begin(), known->ways.end(),
        [&](const tuning::Decision::Way& one) { return one.name == wanted.ways[i].name; });
    times.push_back(same == known->ways.end() ? 0 : same->time);
    if (times.back() > 0 && wanted.ways[i].name == known->chosen) chosen = i;
  }
  if (!chosen) return;
  tried.trial.adopt(*chosen, times);
  if (self_ == 0) {
    job_.log.info(subject_text(tried) + way_text(tried.ways[*chosen]) +
                  " from here on, as decided before: " + known->why);
  }
}

std::string Communicator::reason(const Tried& tried) {
  const tuning::Trial& trial = tried.trial;
  std::size_t fastest = trial.chosen();
  std::size_t seen = 0;
  std::size_t hopeless = 0;
  for (std::size_t way = 0; way < trial.ways(); ++way) {
    if (trial.time(way) == 0) {
      if (trial.cannot_win(way)) ++hopeless;
      continue;
    }
    ++seen;
    if (trial.time(way) < trial.time(fastest)) fastest = way;
  }
  if (trial.at_limit() && fastest == trial.chosen()) return "as fast as the links allow";
  std::string text = fmt::format("the fastest of {}", seen);
  if (fastest != trial.chosen()) {
    text = fmt::format("preferred, and none of {} is clearly faster", seen);
  }
  if (hopeless > 0) text += fmt::format("; of {} the packets alone take longer", hopeless);
  if (const std::size_t dear = trial.ways() - seen - hopeless; dear > 0) {
    text += fmt::format("; {} too dear to be tried yet", dear);
  }
  return text;
}

std::string Communicator::subject_text(const Tried& tried) const {
  if (!tried.any_size) return size_class_text(tried.bytes);
  const auto size_class = static_cast<int>(std::bit_width(tried.bytes));
  return fmt::format(
      "{} on {} ranks, {} to {} bytes at the fullest rank: ", tuning::kCallsOfAnySize, ranks_,
      std::uint64_t{1} << (size_class - 1), (std::uint64_t{1} << size_class) - 1);
}

// Rank 0 of the job writes the file.
void Communicator::record_decisions() {
  if (job_.rank != 0) return;
  for (const auto& [key, tried] : tried_) record(tried);
  for (const auto& [key, tried] : tried_blocks_) record(tried);
}

void Communicator::record(const Tried& tried) {
  // Where a trial was reopened a moment ago, what it had found before says more.
  const bool open = !tried.trial.decided() && tried.trial.reopened() > 0;
  if (auto found = open ? tried.kept : latest(tried)) job_.record(std::move(*found));
}

// Of the latest decision, where this trial has seen the way.
std::optional<tuning::Decision> Communicator::latest(const Tried& tried) const {
  const std::size_t way = tried.trial.chosen();
  if (!tried.trial.has_decided() || tried.trial.sightings(way) == 0) return std::nullopt;
  tuning::Decision decision = subject(tried);
  decision.chosen = decision.ways[way].name;
  decision.why = reason(tried);
  return decision;
}

}  // namespace alm::mpi
