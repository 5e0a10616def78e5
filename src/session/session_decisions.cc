// The decision file: rank 0 reads it and tells the others what concerns this job, so that all
// decide alike.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "job/network_links.h"
#include "job/safe_collectives.h"
#include "session/decision_cache.h"
#include "session/decision_file.h"
#include "session/session.h"

namespace alm::session {
namespace {

// What `known` says is in `found` as well, as it was read from a file.
void find_lines(std::vector<tuning::Decision>& known, const std::vector<tuning::Decision>& found) {
  for (tuning::Decision& one : known) {
    const auto same = std::find_if(found.begin(), found.end(), [&](const tuning::Decision& read) {
      return tuning::same_subject(read, one);
    });
    if (same != found.end()) one.line = same->line;
  }
}

}  // namespace

// Rank 0 alone reads the file, before the ranks compare their records: if there is nothing to tell,
// the job's start costs no collective for it.
void Session::read_decisions() {
  if (job_.rank != 0 || job_.options.decisions.empty()) return;
  DecisionFile& file = decisions_;
  file.cached = job_.options.decisions == kCachedDecisions;
  file.path = file.cached ? cache_file(base::process_environment()) : job_.options.decisions;
  if (file.path.empty()) return;
  auto read = session::read_decisions(file.path);
  file.kept = read || file.cached;
  if (read) {
    file.found = std::move(read).value();
  } else if (!file.cached) {
    job_.log.warning(
        fmt::format("ALLEMANDE_DECISIONS: {}. It is left alone, and everything is tried anew.",
                    read.error().message));
  }
}

void Session::tell_decisions() {
  job_.shape.version = ALM_VERSION;
  job_.shape.mpi = mpi_.library();
  job_.shape.configuration = fmt::format("{:016x}", job_.records.front().configuration);
  if (decisions_.cached) job_.shape.network = network_hash(job_.records, job::network_links());
  if (job_.records.front().has_decisions == 0) return;
  std::string mine;
  if (job_.rank == 0) {
    std::erase_if(decisions_.found,
                  [&](const tuning::Decision& one) { return !(one.shape == job_.shape); });
    mine = tuning::format_decisions(decisions_.found);
  }
  job::SafeCollectives collectives(mpi_, mpi_.world());
  const std::string text = collectives.tell(job_.rank == 0, mine);
  if (auto known = tuning::parse_decisions(text, "the decision file"); !text.empty() && known) {
    job_.known = std::move(known).value();
  }
  if (!decisions_.cached) find_lines(job_.known, decisions_.found);
  // Rank 0 alone has looked at its network. All that it tells is of this job's.
  if (!job_.known.empty()) job_.shape = job_.known.front().shape;
}

void Session::store_decisions() {
  const auto recorded = job_.recorded();
  if (!decisions_.kept || recorded.empty()) return;
  if (decisions_.cached) make_cache_directory(decisions_.path);
  const auto added = add_decisions(decisions_.path, recorded,
                                   decisions_.cached ? Unreadable::kReplaced : Unreadable::kKept);
  if (added) return;
  if (decisions_.cached) {
    job_.log.info(added.error().message);
  } else {
    job_.log.warning(added.error().message);
  }
}

}  // namespace alm::session
