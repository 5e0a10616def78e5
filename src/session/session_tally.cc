// What a job tells of its exchanges: the summary for people, the statistics, and why the library
// carries a call.
#include "session/session_tally.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "session/session.h"

namespace alm::session {
namespace {

constexpr std::string_view kToStandardError = "1";  // of the option `summary`

constexpr std::chrono::milliseconds kAbortStagger{20};
constexpr std::uint32_t kAbortStaggerRanksMax = 100;

}  // namespace

void let_lower_ranks_abort_first(const job::Job& job) {
  if (job.rank > 0) std::this_thread::sleep_for(job::kForwarding);
  std::this_thread::sleep_for(kAbortStagger * std::min(job.rank, kAbortStaggerRanksMax));
}

void Session::begin_tally() {
  const std::string& target = job_.options.summary;
  if (!job_.agreement.stats && target.empty()) return;
  job_.tally.begin(io::monotonic_now());
  if (target.empty()) return;
  const std::string path = target == kToStandardError ? "" : job::path_for_rank(target, job_.rank);
  own_summary_ = job_.rank == 0 || (!path.empty() && path != target);
  job_.summary.begin(path, job_.rank, static_cast<std::uint32_t>(job_.records.size()),
                     own_summary_);
}

void Session::aborts() {
  if (!job_.summary.begun()) return;
  // Where all ranks abort, the lowest ends the others before they fill the terminal.
  let_lower_ranks_abort_first(job_);
  own_summary_ = true;
  ends("at MPI_Abort");
  job::note_written();
}

void Session::ends(const char* end) {
  if (!own_summary_) return;
  job_.summary.say(end);
  if (job_.summary.failed()) {
    job_.log.warning("ALLEMANDE_SUMMARY: cannot write " + job_.summary.path());
  }
}

std::string Session::refusal() const {
  if (job_.options.disable) return "library: ALLEMANDE_DISABLE";
  if (job_.options.algorithm == "native") return "library: ALLEMANDE_ALGORITHM=native";
  if (job_.agreement.obstacle == job::Obstacle::kOneHost) return "library: all ranks on one host";
  return "library: options, hosts or builds do not agree";
}

void Session::passes(tally::Taken* taken, std::string_view why) {
  if (taken != nullptr) taken->way = job_.tally.way(why);
}

void Session::refuse(tally::Taken* taken) {
  if (taken == nullptr) return;
  job_.stats.update([](job::StatsRecord& stats) { ++stats.passed_through; });
  passes(taken, refusal());
}

void Session::note_passed(tally::Function function, std::uint64_t bytes) {
  tally::Taken taken;
  const bool persistent = tally::is_persistent(function);
  if (!accelerating_) {
    passes(&taken, refusal());
  } else if (!starting()) {
    passes(&taken, persistent ? "library: persistent, see ALLEMANDE_PROGRESS"
                              : "library: nonblocking, see ALLEMANDE_PROGRESS");
  } else {
    passes(&taken, persistent ? "library: persistent, not over UDP or faster"
                              : "library: nonblocking, not brought up or faster");
  }
  job_.tally.note(function, bytes, taken, -1);
}

void write_stats(job::Job& job, job::MpiOps& mpi) {
  job::StatsRecord mine = job.stats.record();
  job::add_tally(mine, job.tally);
  std::vector<job::StatsRecord> all(job.records.size());
  if (mpi.allgather(mpi.world(), std::as_bytes(std::span(&mine, 1)),
                    std::as_writable_bytes(std::span(all))) != job::kMpiSuccess) {
    job.log.warning("ALLEMANDE_STATS: the ranks' counters cannot be gathered");
    return;
  }
  const std::string path = job::path_for_rank(job.options.stats, job.rank);
  const bool own = path != job.options.stats;
  if (path.empty() || (!own && job.rank != 0)) return;
  job::StatsRecord sum = mine;
  if (!own) {
    for (std::size_t rank = 1; rank < all.size(); ++rank) add(sum, all[rank]);
  }
  const auto ranks = static_cast<std::uint32_t>(all.size());
  if (const auto written = job::write_file(path, job::to_json(sum, own ? 1 : ranks)); !written) {
    job.log.warning(written.error().message);
  }
}

}  // namespace alm::session
