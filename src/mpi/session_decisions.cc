// The decision file: rank 0 reads it and tells the others what concerns this job, so that all
// decide alike.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "mpi/decision_file.h"
#include "mpi/safe_collectives.h"
#include "mpi/session.h"

namespace alm::mpi {
namespace {

constexpr auto kNothing = std::numeric_limits<std::uint64_t>::max();

// Rank 0's words on every rank: the others have none that are less.
base::Status broadcast(SafeCollectives& collectives, bool mine, std::span<std::uint64_t> words) {
  if (!mine) std::fill(words.begin(), words.end(), kNothing);
  return collectives.least(words);
}

// Empty where it fails, which it does on all ranks or none.
std::string broadcast(SafeCollectives& collectives, bool mine, const std::string& text) {
  std::uint64_t size = text.size();
  if (!broadcast(collectives, mine, std::span(&size, 1))) return {};
  std::vector<std::uint64_t> words((size + sizeof size - 1) / sizeof size);
  if (mine) std::memcpy(words.data(), text.data(), text.size());
  if (words.empty() || !broadcast(collectives, mine, words)) return {};
  std::string all(size, ' ');
  std::memcpy(all.data(), words.data(), size);
  return all;
}

}  // namespace

void Session::load_decisions() {
  if (job_.records.front().keeps_decisions == 0) return;
  job_.shape = {ALM_VERSION, job_.ops.library(),
                fmt::format("{:016x}", job_.records.front().configuration)};
  std::string mine;
  if (job_.rank == 0) {
    auto read = read_decisions(job_.options.decisions);
    if (read) {
      keeps_decisions_ = true;
      in_file_ = std::move(read).value();
      std::vector<tuning::Decision> fitting;
      std::copy_if(in_file_.begin(), in_file_.end(), std::back_inserter(fitting),
                   [&](const tuning::Decision& one) { return one.shape == job_.shape; });
      mine = tuning::format_decisions(fitting);
    } else {
      job_.log.warning(
          fmt::format("ALLEMANDE_DECISIONS: {}. It is left alone, and everything is tried anew.",
                      read.error().message));
    }
  }
  SafeCollectives collectives(job_.ops, job_.ops.world());
  const std::string text = broadcast(collectives, job_.rank == 0, mine);
  if (auto known = tuning::parse_decisions(text, "the decision file"); !text.empty() && known) {
    job_.known = std::move(known).value();
  }
}

void Session::store_decisions() {
  const auto recorded = job_.recorded();
  if (!keeps_decisions_ || recorded.empty()) return;
  for (const tuning::Decision& one : recorded) tuning::merge(in_file_, one);
  if (const auto written = write_decisions(job_.options.decisions, in_file_); !written) {
    job_.log.warning(written.error().message);
  }
}

}  // namespace alm::mpi
