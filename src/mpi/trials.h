// Which way each exchange of a communicator takes while ways are on trial (tuning/trial.h): ours,
// the MPI library's own, or messages of that library in an order of ours. What is decided goes to
// the decision file, and is taken from there.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>

#include "mpi/job.h"
#include "mpi/members.h"
#include "mpi/repertoire.h"
#include "mpi/report.h"
#include "mpi/tried.h"
#include "topology/cluster.h"
#include "tuning/size_class.h"

namespace alm::mpi {

class Trials {
 public:
  Trials(Job& job, CommHandle comm, const Members& members, const Repertoire& ways, Report& report)
      : job_(job), comm_(comm), members_(members), ways_(ways), report_(report) {}

  // Whether the ways of this communicator are on trial at all.
  bool on() const;
  bool on_for_blocks() const;

  // The trial that the next call belongs to, equal on all ranks. `messages_refused`: the ranks have
  // found that messages cannot be had.
  Tried& of(std::uint64_t bytes, bool messages_refused);
  // Of blocks of any size, by what the fullest rank carries; `limit` as in tuning::Trial.
  Tried& of_blocks(std::uint64_t load, base::Nanos limit);
  // Whether blocks will go our way where the fullest rank carries so much.
  bool takes_ours(std::uint64_t load) const;

  // The call has gone tried.way(), and took so long on this rank. Now and then collective. An
  // error: this rank alone does not know what the others have agreed on.
  base::Status took(Tried& tried, base::Nanos time);

  // For calls that are not on trial themselves, the way that is decided on for their size, else the
  // model's. Nothing: the library's own.
  std::optional<tuning::Way> decided(std::uint64_t bytes) const;

  // For the decision file.
  void record() const;

 private:
  using Key = std::tuple<tuning::SizeClass, tuning::Way::Kind, std::uint32_t>;  // the model's way

  Key key_of(std::uint64_t bytes) const;
  std::vector<tuning::Kin> kin_of(const std::vector<tuning::Way>& ways) const;
  base::Nanos least_time(std::uint64_t bytes, topology::Packing packing) const;
  base::Status agree(tuning::Trial& trial) const;
  tuning::Decision subject(const Tried& tried) const;
  bool adopt(Tried& tried) const;  // false: no
  std::optional<tuning::Decision> latest(const Tried& tried) const;
  void record(const Tried& tried) const;

  Job& job_;
  CommHandle comm_;
  const Members& members_;
  const Repertoire& ways_;
  Report& report_;
  // Where the model's choice changes within a size class, each part has a trial of its own.
  std::map<Key, Tried> tried_;
  std::map<tuning::SizeClass, Tried> tried_blocks_;
};

}  // namespace alm::mpi
