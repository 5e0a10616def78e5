// The decision file: for each job and size class the way that was chosen, the other ways, and why.
// Written in MPI_Finalize, read in MPI_Init, so that later runs of the same shape need no trial.
// TOML; `allemande explain` prints it. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "tuning/trial.h"

namespace alm::tuning {

constexpr std::size_t kDecisionFileBytesMax = 1u << 20;

// What must be equal so that a decision holds in another job.
struct JobShape {
  std::string version;        // of allemande
  std::string mpi;            // library and version
  std::string configuration;  // hash of shared options and cluster file, hexadecimal
  std::string profile = {};   // hash of the profile, hexadecimal; empty: none
  // Hash of the hosts and their network, hexadecimal; empty: in files that the user has named, who
  // knows for which hosts they hold.
  std::string network = {};

  bool operator==(const JobShape&) const = default;
};

// The calls that a decision is for.
constexpr std::string_view kCallsOfOneSize = "MPI_Alltoall";
constexpr std::string_view kCallsOfAnySize = "MPI_Alltoallv and MPI_Alltoallw";
constexpr std::string_view kCallsOfNeighbours = "MPI_Neighbor_alltoall, v and w";

struct Decision {
  struct Way {
    std::string key;       // "udp grid:8x4", "mpi pairwise", "library"; the same in every version
    std::string name;      // for people: "grid 8 x 4 over UDP"; the wording may change
    base::Nanos time = 0;  // of the slowest rank; 0: not tried
    std::uint32_t seen = 0;
    std::uint64_t packets = 0;  // that a rank sends, by the model; 0: not known
    base::Nanos predicted = 0;  // by the profile; 0: not known
    bool operator==(const Way&) const = default;
  };

  JobShape shape;
  std::string calls;  // one of the above
  std::uint32_t ranks = 0, hosts = 0;
  // Per pair; for calls of any size: what the fullest rank sends or receives.
  std::uint64_t least_bytes = 0, most_bytes = 0;
  std::string chosen;      // the key of a way
  std::string why;         // for people
  std::vector<Way> ways;   // in order of preference; the first is the model's
  std::uint32_t line = 0;  // of the file that it was read from, for messages; 0: of none

  const Way* way(std::string_view key) const;  // null: it is not among the ways
  const Way* chosen_way() const { return way(chosen); }
  bool operator==(const Decision& other) const;  // wherever they stand
};

// The way that later jobs may begin with: the one decided on, or, where a job ends before that, the
// best so far, if it was seen often enough. Nothing: neither has been seen in this trial.
std::optional<std::size_t> way_found(const Trial& trial);
// Why that way, for people.
std::string why_chosen(const Trial& trial);
// Whether what an earlier job has seen of the way counts; else it is tried as if it had not.
bool counts(const Decision& decision, const Decision::Way& way);
// Whether the way chosen takes so much more or less than predicted that predictions must be wrong.
bool refutes_predictions(const Trial& trial);

// Whether both are about the same exchanges: then one replaces the other.
bool same_subject(const Decision& a, const Decision& b);
void merge(std::vector<Decision>& all, Decision decision);

// The latest of them that fit kDecisionFileBytesMax, all in most cases.
std::string format_decisions(std::span<const Decision> all);
// Errors name `file`.
base::Result<std::vector<Decision>> parse_decisions(std::string_view text, std::string_view file);

}  // namespace alm::tuning
