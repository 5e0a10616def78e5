#include "communicator/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "job/host_links.h"

namespace alm::communicator {
namespace {

// "h0 -> leaf0 of 10 Mbit/s in line 17"
std::string link_text(const topology::Cluster& cluster, const topology::LevelLimit& limit) {
  const std::string text = fmt::format("{} of {} Mbit/s", limit.busiest, limit.rate_mbit_s);
  const topology::Link* link = job::find_link(cluster, limit.busiest);
  if (link == nullptr || link->lines.rate == 0) return text;
  return fmt::format("{} in line {}", text, link->lines.rate);
}

double milliseconds(base::Nanos time) { return static_cast<double>(time) / 1e6; }

}  // namespace

bool Report::shows() const { return members_.self == 0 && job_.log.shows(job::LogLevel::kInfo); }

void Report::announce(std::uint64_t bytes) {
  if (!shows()) return;
  const tuning::Way way = ways_.model_way(bytes);
  if (!announced_.insert({tuning::SizeClass(bytes), way.kind, way.index}).second) return;
  job_.log.info(class_text(bytes) + way_text(way));
}

void Report::announce_blocks(const char* function) {
  if (blocks_announced_ || !shows()) return;
  blocks_announced_ = true;
  job_.log.info(
      fmt::format("{} on {} ranks: {}", function, members_.ranks, way_text(ways_.blocks_way())));
}

void Report::begins(const Tried& tried) const {
  if (!shows()) return;
  const auto predicted = [&](std::size_t way) -> std::string {
    if (tried.predicted[way] == 0) return "nothing";
    return fmt::format("{:.3g} ms", milliseconds(tried.predicted[way]));
  };
  const std::size_t first = tried.trial.way();
  std::string text = fmt::format("{}begins with {} (predicted: {}", subject_text(tried),
                                 way_text(tried.way()), predicted(first));
  for (std::size_t way = 0; way < tried.ways.size(); ++way) {
    if (way == first) continue;
    text += fmt::format("; {}: {}", ways_.name_of(tried.ways[way]), predicted(way));
  }
  job_.log.info(text + ")");
}

void Report::adopted(const Tried& tried, tuning::Way way, const std::string& why) const {
  if (!shows()) return;
  job_.log.info(subject_text(tried) + way_text(way) + " from here on, as decided before: " + why);
}

void Report::tell(Tried& tried) const {
  const tuning::Trial& trial = tried.trial;
  if (!shows()) return;
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
                                 way_text(tried.way()), tuning::why_chosen(trial));
  for (std::size_t way = 0; way < tried.ways.size(); ++way) {
    if (way > 0) text += "; ";
    text += ways_.name_of(tried.ways[way]);
    text += trial.time(way) == 0 ? ": not tried"
                                 : fmt::format(": {:.3g} ms, seen {}x",
                                               milliseconds(trial.time(way)), trial.sightings(way));
  }
  job_.log.info(text + ")");
}

void Report::burst(const Tried& tried, std::uint64_t lost) const {
  if (!shows()) return;
  job_.log.info(subject_text(tried) +
                (lost == 0
                     ? "queues hold what the MPI library sends at once: it can be tried"
                     : fmt::format("queues do not hold what the MPI library sends at once: {} "
                                   "packets were lost",
                                   lost)));
}

void Report::refutes_limit(const Tried& tried) const {
  if (job_.rank != 0 || !job_.cluster || !members_.placement.equal()) return;
  std::string what = "its links";
  if (!tried.any_size) {
    const auto levels =
        topology::alltoall_limits(*job_.cluster, members_.hosts, members_.host_block(tried.bytes));
    const auto most =
        std::max_element(levels.begin(), levels.end(),
                         [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
    if (most != levels.end()) what = link_text(*job_.cluster, *most);
  }
  job_.warn_first(
      "rates",
      fmt::format("{}{} took less than {} can carry in that time by the cluster file {}: a rate "
                  "there is too low. Nothing is held to it; correct the file.",
                  subject_text(tried), "a call", what, job_.options.cluster));
}

void Report::refutes_profile(const Tried& tried) const {
  if (job_.rank != 0) return;
  const std::size_t way = tried.trial.chosen();
  job_.warn_first(
      "profile",
      fmt::format(
          "ALLEMANDE_PROFILE: {}: {}{} takes {:.3g} ms, and {:.3g} ms are predicted: it was "
          "measured on another day, or with other traffic, or a rank comes late to each call. "
          "Nothing is held to it; measure again with `allemande probe`.",
          job_.options.profile, subject_text(tried), ways_.name_of(tried.ways[way]),
          milliseconds(tried.trial.time(way)), milliseconds(tried.predicted[way])));
}

void Report::refutes_decision(const Tried& tried) const {
  if (job_.rank != 0) return;
  const tuning::Decision::Way* way = tried.adopted->chosen_way();
  if (tried.adopted->line == 0 || way == nullptr) return;
  job_.warn_first(
      "decisions",
      fmt::format("{}:{}: {}{} was decided on at {:.3g} ms a call; calls of it, or of the others, "
                  "take other times now: it was decided on another day. Ways are tried anew.",
                  job_.options.decisions, tried.adopted->line, subject_text(tried), way->name,
                  milliseconds(way->time)));
}

std::string Report::class_text(std::uint64_t bytes) const {
  const tuning::SizeClass sizes(bytes);
  return fmt::format("MPI_Alltoall on {} ranks, {} to {} bytes per pair: ", members_.ranks,
                     sizes.least(), sizes.most());
}

std::string Report::subject_text(const Tried& tried) const {
  if (!tried.any_size) return class_text(tried.bytes);
  const tuning::SizeClass sizes(tried.bytes);
  return fmt::format("{} on {} ranks, {} to {} bytes at the fullest rank: ", tried.calls(),
                     members_.ranks, sizes.least(), sizes.most());
}

std::string Report::way_text(tuning::Way way) const {
  if (!ways_.goes_over_udp(way)) return ways_.name_of(way);
  return fmt::format("{}, {}", ways_.name_of(way), courier_.settings_text());
}

}  // namespace alm::communicator
