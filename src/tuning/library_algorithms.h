// The algorithms of MPI_Alltoall that MPI libraries have, and may be told to take
// (mpi/abi/algorithm_variables.h). Numbers and names never change.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace alm::tuning {

enum class LibraryAlgorithm : std::uint8_t {
  kOwnChoice,   // nothing is told
  kLinear,      // everything posted at once
  kPairwise,    // rounds of one partner: by shift; MPICH's of powers of two by exclusive or
  kBruck,       // combined in ceil(log2 p) phases
  kLinearSync,  // Open MPI: as linear, a new message for each that is complete
  kScattered,   // MPICH: up to 32 messages outstanding at once
};

// As `allemande bench` names them: "pairwise" of "openmpi:pairwise".
constexpr std::array<std::string_view, 6> kLibraryAlgorithmNames = {
    "", "linear", "pairwise", "bruck", "linear-sync", "scattered"};

constexpr std::string_view name_of(LibraryAlgorithm algorithm) {
  return kLibraryAlgorithmNames[static_cast<std::size_t>(algorithm)];
}

// Of one library.
class AlgorithmSet {
 public:
  static constexpr std::size_t kMembersMax = kLibraryAlgorithmNames.size();

  constexpr AlgorithmSet() = default;
  constexpr void add(LibraryAlgorithm algorithm) {
    has_[static_cast<std::size_t>(algorithm)] = true;
  }
  constexpr bool has(LibraryAlgorithm algorithm) const {
    return has_[static_cast<std::size_t>(algorithm)];
  }
  constexpr bool operator==(const AlgorithmSet&) const = default;

 private:
  std::array<bool, kMembersMax> has_{};
};

}  // namespace alm::tuning
