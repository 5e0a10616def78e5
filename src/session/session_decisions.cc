// The decision file: rank 0 reads it and tells the others what concerns this job, so that all
// decide alike.
#include <fmt/format.h>

#include <vector>

#include "job/safe_collectives.h"
#include "session/decision_file.h"
#include "session/session.h"

namespace alm::session {

void Session::load_decisions() {
  if (job_.records.front().keeps_decisions == 0) return;
  job_.shape.version = ALM_VERSION;
  job_.shape.mpi = mpi_.library();
  job_.shape.configuration = fmt::format("{:016x}", job_.records.front().configuration);
  std::string mine;
  if (job_.rank == 0) {
    auto read = read_decisions(job_.options.decisions);
    if (read) {
      keeps_decisions_ = true;
      std::erase_if(read.value(),
                    [&](const tuning::Decision& one) { return !(one.shape == job_.shape); });
      mine = tuning::format_decisions(read.value());
    } else {
      job_.log.warning(
          fmt::format("ALLEMANDE_DECISIONS: {}. It is left alone, and everything is tried anew.",
                      read.error().message));
    }
  }
  job::SafeCollectives collectives(mpi_, mpi_.world());
  const std::string text = collectives.tell(job_.rank == 0, mine);
  if (auto known = tuning::parse_decisions(text, "the decision file"); !text.empty() && known) {
    job_.known = std::move(known).value();
  }
}

void Session::store_decisions() {
  const auto recorded = job_.recorded();
  if (!keeps_decisions_ || recorded.empty()) return;
  if (const auto added = add_decisions(job_.options.decisions, recorded); !added) {
    job_.log.warning(added.error().message);
  }
}

}  // namespace alm::session
