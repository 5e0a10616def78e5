#include "communicator/library_ways.h"

#include <cstdint>
#include <utility>

#include "job/safe_collectives.h"

namespace alm::communicator {

tuning::AlgorithmSet LibraryWays::ask() {
  asked_ = true;
  job::LibraryAlgorithms* const library = job_.mpi->algorithms();
  const tuning::AlgorithmSet here = library != nullptr ? library->known() : tuning::AlgorithmSet();
  std::array<std::uint64_t, tuning::AlgorithmSet::kMembersMax> words{};
  for (std::size_t i = 0; i < words.size(); ++i) {
    words[i] = here.has(static_cast<tuning::LibraryAlgorithm>(i)) ? 1 : 0;
  }
  tuning::AlgorithmSet everywhere;
  if (!job::SafeCollectives(job_.bootstrap, comm_).least(words)) return everywhere;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] != 0) everywhere.add(static_cast<tuning::LibraryAlgorithm>(i));
  }
  return everywhere;
}

bool LibraryWays::ready(tuning::LibraryAlgorithm algorithm) {
  if (algorithm == tuning::LibraryAlgorithm::kOwnChoice) return true;
  Told& told = told_[static_cast<std::size_t>(algorithm)];
  if (told.tried) return told.library != nullptr;
  told.tried = true;
  auto made = job_.mpi->algorithms()->tell(comm_, algorithm);
  if (!made) job_.log.warning(made.error().message);
  if (!job::SafeCollectives(job_.bootstrap, comm_).on_all(made.ok())) return false;
  told.library = std::move(made).value();
  return true;
}

int LibraryWays::run(const courier::AlltoallCall& call, tuning::LibraryAlgorithm algorithm) {
  if (algorithm == tuning::LibraryAlgorithm::kOwnChoice) return call.native();
  return told_[static_cast<std::size_t>(algorithm)].library->run(call.native_on);
}

}  // namespace alm::communicator
